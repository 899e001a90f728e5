"""Generated problems for the tests, and the one checker of plans."""

from __future__ import annotations

import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch import Generator, Tensor

from fewlabels import ot

CHEAP = settings(max_examples=25, deadline=None, derandomize=True)


def points(n: int, d: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(n, d, generator=Generator().manual_seed(seed), dtype=dtype)


def lumps(
    k: int = 3, each: int = 20, d: int = 4, seed: int = 0, spread: float = 0.1, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    """Points about k corners of a simplex of side sqrt(2), in no order, where each comes from, and the corners."""
    generator = Generator().manual_seed(seed)
    truth = torch.arange(k * each)[torch.randperm(k * each, generator=generator)] % k
    corners = torch.eye(k, d, dtype=dtype)
    return corners[truth] + spread * torch.randn(k * each, d, generator=generator, dtype=dtype), truth, corners


def weights(n: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    drawn = torch.rand(n, generator=Generator().manual_seed(seed), dtype=dtype) + 0.05
    return drawn / drawn.sum()


@st.composite
def cloud_pairs(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Two small clouds of one space with weights, duplicates and flat directions among them."""
    d, n, m, seed = (draw(st.integers(1, high)) for high in (4, 7, 7, 10**6))
    x, y = (
        points(n, d, seed),
        points(m, d, seed + 1) * draw(st.sampled_from([0.1, 1.0, 3.0])) + draw(st.sampled_from([0.0, 0.5, 50.0])),
    )
    if draw(st.booleans()):
        x = x.round()  # ties and duplicates
    if draw(st.booleans()):
        y[:, 0] = y[0, 0]  # no variance
    return x, y, weights(n, seed + 2), weights(m, seed + 3)


def problem(n: int, m: int, seed: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Costs in [0, 1) and two weight vectors."""
    cost = torch.rand(n, m, generator=Generator().manual_seed(seed), dtype=dtype)
    return cost, weights(n, seed + 1, dtype), weights(m, seed + 2, dtype)


def softmax_families(
    c: int, each: int, seed: int, sharpness: float = 4.0, dtype: torch.dtype = torch.float64
) -> tuple[list[Tensor], list[Tensor]]:
    """What a network gives: c clouds of outputs of either side in the simplex, of unequal sizes, mostly at a corner."""
    generator = Generator().manual_seed(seed)

    def family() -> list[Tensor]:
        sizes = torch.randint(each // 2, each + 1, (c,), generator=generator).tolist()
        logits = [torch.randn(n, c, generator=generator, dtype=dtype) for n in sizes]
        return [(z + sharpness * torch.eye(c, dtype=dtype)[j]).softmax(1) for j, z in enumerate(logits)]

    return family(), family()


def check_plan(plan: ot.Plan, a: Tensor, b: Tensor, atol: float = 1e-7) -> None:
    """A coupling of a and b that its potentials prove optimal: complementary slackness, and no duality gap."""
    T, cost, mass = plan.matrix.double(), plan.cost_matrix.detach().double(), float(a.double().sum())
    a, b = a.double(), b.double()
    f, g = (potential.double() for potential in plan.potentials)
    assert plan.converged
    assert float(T.min()) >= 0
    off = float((T.sum(1) - a).abs().sum() + (T.sum(0) - b * (mass / b.sum())).abs().sum())
    assert off <= atol * mass
    scale = float(cost.max()) or 1.0
    if plan.reg:
        assert torch.allclose(T, ((f[:, None] + g - cost) / plan.reg).exp(), atol=10 * atol * mass)
    else:
        assert bool((f[:, None] + g <= cost + atol * scale).all())
        assert torch.allclose((f[:, None] + g)[T > 0], cost[T > 0], atol=10 * atol * scale)
    dual = float(f[a > 0] @ a[a > 0] + g[b > 0] @ b[b > 0]) - plan.reg * mass
    assert abs(float(plan.objective.detach()) - dual) <= 100 * atol * mass * scale

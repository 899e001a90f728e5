"""The coupling of Algorithm 1, l. 13, when the masses of the clusters are given."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from fewlabels.ot.cost import squared_distances
from fewlabels.ot.coupling import Coupled
from fewlabels.ot.exact import exact
from fewlabels.ot.sinkhorn import sinkhorn

_SLACK = 1e-12  # of the greatest cost, and of the whole mass: rounding in float64


def sinkhorn_coupling(
    x: Float[Tensor, "n d"], b: Float[Tensor, " n"], a: Float[Tensor, " k"], y: Float[Tensor, "k d"], reg: float
) -> Coupled:
    """The optimum of p(a, b, M) with entropy, in float64: what its tolerance leaves must not pass for a gain.

    The centres are few, so Newton's method is cheap; ``sinkhorn`` measures both marginals at its exit.
    """
    cost = squared_distances(x.double(), y.double())
    mass, share = b.double() / b.double().sum(), a.double() / a.double().sum()
    plan = sinkhorn(cost, mass, share, reg=reg, start="newton")
    T = plan.matrix.to(x)
    return Coupled(a, T.T @ x, float(plan.objective), T.argmax(1))


def exact_coupling(
    x: Float[Tensor, "n d"],
    b: Float[Tensor, " n"],
    a: Float[Tensor, " k"],
    y: Float[Tensor, "k d"],
    previous: Coupled | None,
) -> Coupled:
    """The optimum of p(a, b, M), from the potentials of the step before or of a few points."""
    held = (a > 0).nonzero().squeeze(1)
    capacity = a[held].double()
    mass = b.double() * (capacity.sum() / b.double().sum())
    cost = squared_distances(x.double(), y[held].double())
    if previous is None or previous.potentials is None:
        v = _sampled_potentials(cost, mass, capacity)
    else:
        v = previous.potentials[held]
    choice, closed, shared, v = _certified(cost, mass, capacity, v)
    rest = mass * closed  # the mass of the points that go to one centre whole
    sums = torch.zeros_like(y, dtype=torch.float64).index_add_(0, held[choice], x * rest[:, None])
    sums[held] += shared.T @ x[~closed].double()
    objective = rest @ cost.gather(1, choice[:, None]).squeeze(1) + (shared * cost[~closed]).sum()
    choice[~closed] = shared.argmax(1)
    potentials = torch.zeros_like(a, dtype=torch.float64).index_copy_(0, held, v)
    return Coupled(a, sums.to(y), float(objective), held[choice], potentials)


def _certified(
    cost: Float[Tensor, "n k"], mass: Float[Tensor, " n"], capacity: Float[Tensor, " k"], v: Float[Tensor, " k"]
) -> tuple[Int[Tensor, " n"], Bool[Tensor, " n"], Float[Tensor, "m k"], Float[Tensor, " k"]]:
    """An optimal plan: who goes where whole, which those are, the plan of the m others, the potentials that prove it.

    With v given, a point takes the centre of least ``M - v``, and the nearer its second choice, the less certain it is.
    The least certain points share the capacity that the others leave, by the exact plan of those alone. Where the
    potentials of that plan confirm the choice of every other point, complementary slackness holds throughout.
    """
    n, k = cost.shape
    undecided = 8 * k + n // 50
    while True:
        choice, margin = _choices(cost - v)
        margin[mass == 0] = torch.inf  # nothing to share
        while True:
            closed = margin > margin.kthvalue(min(undecided, n)).values
            free = capacity - torch.bincount(choice[closed], weights=mass[closed], minlength=k)
            if float(free.min()) >= -_SLACK:
                break
            undecided *= 2
        plan = exact(cost[~closed], *_same_sum(mass[~closed], free.clamp_min(0)))
        v = plan.potentials[1]
        left = cost[closed] - v
        excess = left.gather(1, choice[closed][:, None]).squeeze(1) - left.amin(1)
        if not bool((excess > _SLACK * cost.max()).any()):
            return choice, closed, plan.matrix, v
        undecided *= 2


def _choices(left: Float[Tensor, "n k"]) -> tuple[Int[Tensor, " n"], Float[Tensor, " n"]]:
    """The least entry of each row, and by how much the second passes it."""
    if left.shape[1] == 1:
        return torch.zeros_like(left[:, 0], dtype=torch.long), torch.zeros_like(left[:, 0])
    two = left.topk(2, 1, largest=False)
    return two.indices[:, 0], two.values[:, 1] - two.values[:, 0]


def _sampled_potentials(
    cost: Float[Tensor, "n k"], mass: Float[Tensor, " n"], capacity: Float[Tensor, " k"]
) -> Float[Tensor, " k"]:
    """Potentials of the exact plan of ten points a centre, drawn evenly."""
    n, k = cost.shape
    drawn = torch.randperm(n, generator=Generator().manual_seed(0))[: 10 * k].to(cost.device)
    drawn = drawn[mass[drawn] > 0]
    if not len(drawn):
        return torch.zeros_like(capacity)
    return exact(cost[drawn], *_same_sum(mass[drawn], capacity)).potentials[1]


def _same_sum(
    mass: Float[Tensor, " n"], capacity: Float[Tensor, " k"]
) -> tuple[Float[Tensor, " n"], Float[Tensor, " k"]]:
    return mass, capacity * (mass.sum() / capacity.sum())

"""Generated problems for the tests of clustering and bounds."""

from __future__ import annotations

import torch
from hypothesis import strategies as st
from torch import Generator, Tensor


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

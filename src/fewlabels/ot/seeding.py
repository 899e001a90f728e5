"""Where Algorithm 1 starts: the centres that are given, and the others by k-means++."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Generator, Tensor


def starting_centers(
    x: Float[Tensor, "n d"],
    b: Float[Tensor, " n"] | None,
    k: int,
    init: Float[Tensor, "i d"] | None,
    generator: Generator | None,
) -> Float[Tensor, "k d"]:
    """The rows of ``init``, then points drawn with probability ``b_j min_i ||x_j - y_i||^2``, the best of a few each.

    >>> x = torch.tensor([[0.0], [0.1], [5.0]])
    >>> starting_centers(x, None, 2, torch.tensor([[0.0]]), Generator().manual_seed(0))
    tensor([[0.],
            [5.]])
    """
    if init is not None and len(init) == k:
        return init
    given = x.new_zeros(0, x.shape[1]) if init is None else init
    centers, trials = list(given), 2 + int(math.log(k))
    origin = x.mean(0)  # near 0 a matrix product keeps the digits of the distances
    points, given = x - origin, given - origin
    squares = points.square().sum(1)
    nearest = _squared(points, squares, given).amin(0) if len(given) else torch.ones_like(squares)
    while len(centers) < k:
        drawn = _draw(nearest if b is None else nearest * b, trials if centers else 1, generator)
        shorter = _squared(points, squares, points[drawn])
        if centers:
            shorter = torch.minimum(shorter, nearest)
        best = (shorter.sum(1) if b is None else shorter @ b).argmin()
        nearest = shorter[best]
        centers.append(x[drawn[best]])
    return torch.stack(centers)


def _squared(x: Float[Tensor, "n d"], squares: Float[Tensor, " n"], y: Float[Tensor, "k d"]) -> Float[Tensor, "k n"]:
    """``||y_i - x_j||^2``; there is a draw for each centre, and none of them may copy the points."""
    return torch.addmm(squares, y, x.T, alpha=-2).add_(y.square().sum(1)[:, None]).clamp_min_(0)


def _draw(weights: Float[Tensor, " n"], count: int, generator: Generator | None) -> Tensor:
    """Indices drawn in proportion to the weights; evenly when every point has a centre of its own already."""
    device = weights.device if generator is None else generator.device
    uniform = torch.rand(count, dtype=torch.float64, device=device, generator=generator).to(weights.device)
    cumulative = weights.double().cumsum(0)
    if float(cumulative[-1]) == 0:
        cumulative = torch.arange(1, len(weights) + 1, dtype=torch.float64, device=weights.device)
    # right=True: a point without weight is never drawn.
    drawn = torch.searchsorted(cumulative, uniform * cumulative[-1], right=True)
    return drawn.clamp_max(len(weights) - 1)

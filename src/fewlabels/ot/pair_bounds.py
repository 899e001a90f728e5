"""Bounds on ``W_k`` of one pair, dearer than those of ``bounds`` and far cheaper than the exact plan."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fewlabels.ot.bounds import shares
from fewlabels.ot.checks import check_order, check_pair
from fewlabels.ot.cost import paired_cost

OneWeights = Float[Tensor, " _"] | None


def gelbrich(q: Float[Tensor, "n d"], p: Float[Tensor, "m d"], a: OneWeights = None, b: OneWeights = None) -> Tensor:
    """``(||m - m'||^2 + tr S + tr S' - 2 tr (S^(1/2) S' S^(1/2))^(1/2))^(1/2)``: W_2 of the Gaussians, at most W_2.

    With R' R = S for each cloud, from a QR decomposition, the last trace is the nuclear norm of ``R R'``.

    >>> x = torch.tensor([[-1.0, -1.0], [1.0, 1.0]])
    >>> gelbrich(x, x * torch.tensor([1.0, -1.0]) + 1)  # the axes of the two clouds are orthogonal
    tensor(2.4495, dtype=torch.float64)
    """
    check_pair("q", q, "p", p)
    (mean_q, R_q), (mean_p, R_p) = _triangle(q, a), _triangle(p, b)
    nuclear = torch.linalg.svdvals(R_q @ R_p.T).sum()
    spread = R_q.square().sum() + R_p.square().sum()
    return ((mean_q - mean_p).square().sum() + (spread - 2 * nuclear).clamp_min(0)).sqrt()


def line_bound(
    q: Float[Tensor, "n d"], p: Float[Tensor, "m d"], order: float = 2, a: OneWeights = None, b: OneWeights = None
) -> Tensor:
    """What it costs to move mass in the order of its place on the line through the two means: at least W_k.

    >>> line_bound(torch.tensor([[0.0], [2.0]]), torch.tensor([[5.0], [3.0]]))
    tensor(3., dtype=torch.float64)
    """
    check_pair("q", q, "p", p)
    check_order(order)
    a, b = shares(0, q, a), shares(1, p, b)
    q, p = q.double(), p.double()
    line = b @ p - a @ q
    i, j, mass = _monotone(q @ line, p @ line, a, b)
    return (mass @ paired_cost(q[i], p[j], order)).pow(1 / order)


def _monotone(
    s: Float[Tensor, " n"], t: Float[Tensor, " m"], a: Float[Tensor, " n"], b: Float[Tensor, " m"]
) -> tuple[Int[Tensor, " r"], Int[Tensor, " r"], Float[Tensor, " r"]]:
    """The coupling of two sets of places in their order: who, to whom, how much; both masses change hands at each."""
    rank_s, rank_t = s.argsort(), t.argsort()
    until_s, until_t = a[rank_s].cumsum(0), b[rank_t].cumsum(0)
    ends = torch.cat([until_s, until_t]).sort().values
    mass = ends.diff(prepend=ends.new_zeros(1))
    middle = ends - mass / 2
    i = torch.searchsorted(until_s, middle).clamp_max(len(s) - 1)
    j = torch.searchsorted(until_t, middle).clamp_max(len(t) - 1)
    return rank_s[i], rank_t[j], mass


def _triangle(
    cloud: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None
) -> tuple[Float[Tensor, " d"], Float[Tensor, "r d"]]:
    """The mean, and R with R' R the covariance."""
    share = shares(0, cloud, weights)
    mean = share @ cloud.double()
    return mean, torch.linalg.qr((cloud.double() - mean) * share.sqrt()[:, None], mode="r").R

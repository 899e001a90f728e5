"""Bounds on ``W_k`` of every pair of two families, from means and variances alone.

Below: ``W_k >= W_2 >= Gelbrich's bound >= the diagonal one >= the distance of the means`` for ``k >= 2``; for
``1 <= k < 2`` only the distance of the means holds. Above, for ``k = 2``: the product coupling, which always exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from fewlabels.ot.checks import check_dtype, check_pair, check_weights

Clouds = Sequence[Float[Tensor, "_ d"]]
CloudWeights = Sequence[Float[Tensor, " _"]]


@dataclass(frozen=True)
class Moments:
    """Of each cloud of a family, in float64: mean, standard deviation of each coordinate, radius."""

    means: Float[Tensor, "q d"]
    deviations: Float[Tensor, "q d"]
    radii: Float[Tensor, " q"]  # from the mean to the farthest point


def moments(clouds: Clouds, weights: CloudWeights | None = None) -> Moments:
    """The moments of each cloud; points without weights are even.

    >>> moments([torch.tensor([[0.0, 1.0], [2.0, 1.0]])]).deviations
    tensor([[1., 0.]], dtype=torch.float64)
    """
    means, deviations, radii = [], [], []
    for cloud, share in zip(clouds, family_shares(clouds, weights), strict=True):
        points = cloud.double()
        mean = share @ points
        squares = (points - mean).square_()
        means.append(mean)
        deviations.append((share @ squares).sqrt())
        radii.append(squares.sum(1).max().sqrt())
    return Moments(torch.stack(means), torch.stack(deviations), torch.stack(radii))


def mean_matrix(qs: Clouds, ps: Clouds, *, a: CloudWeights | None = None, b: CloudWeights | None = None) -> Tensor:
    """``||m_i - m_j||``, by Jensen at most ``W_k(Q_i, P_j)`` for every ``k >= 1``.

    >>> mean_matrix([torch.tensor([[0.0], [2.0]])], [torch.tensor([[4.0]])])
    tensor([[3.]])
    """
    return mean_bound(moments(qs, a), moments(ps, b)).to(qs[0].dtype)


def gaussian_matrix(qs: Clouds, ps: Clouds, *, a: CloudWeights | None = None, b: CloudWeights | None = None) -> Tensor:
    """``(||m_i - m_j||^2 + ||s_i - s_j||^2)^(1/2)``: W_2 of the diagonal Gaussians with the clouds' own moments.

    At most ``W_k(Q_i, P_j)`` for ``k >= 2``: each coordinate alone costs at least what its mean and deviation need.

    >>> gaussian_matrix([torch.tensor([[0.0], [2.0]])], [torch.tensor([[4.0]])])
    tensor([[3.1623]])
    """
    return gaussian_bound(moments(qs, a), moments(ps, b)).to(qs[0].dtype)


def mean_bound(q: Moments, p: Moments) -> Float[Tensor, "q p"]:
    """The distances of the means."""
    return _distances(q.means, p.means)


def gaussian_bound(q: Moments, p: Moments) -> Float[Tensor, "q p"]:
    """W_2 of the diagonal Gaussians."""
    return (_distances(q.means, p.means).square() + _distances(q.deviations, p.deviations).square()).sqrt()


def product_bound(q: Moments, p: Moments, order: float = 2) -> Float[Tensor, "q p"]:
    """``(||m_i - m_j||^2 + |s_i|^2 + |s_j|^2)^(1/2)``, what the independent coupling costs: at least W_k for k <= 2.

    For k > 2, no distance being above ``R = ||m_i - m_j|| + r_i + r_j``: ``E d^k <= R^(k - 2) E d^2``.
    """
    between = mean_bound(q, p)
    within = q.deviations.square().sum(1)[:, None] + p.deviations.square().sum(1)
    square = between.square() + within
    if order <= 2:
        return square.sqrt()
    reach = between + q.radii[:, None] + p.radii
    return (reach.pow(order - 2) * square).pow(1 / order)


def family_shares(clouds: Clouds, weights: CloudWeights | None) -> list[Tensor]:
    """The weights of each cloud of a family."""
    if not len(clouds):
        raise ValueError("0 clouds: give at least one")
    if weights is not None and len(weights) != len(clouds):
        raise ValueError(f"{len(weights)} weight vectors for {len(clouds)} clouds: give one a cloud")
    for i, cloud in enumerate(clouds):
        check_pair("cloud 0", clouds[0], f"cloud {i}", cloud)
    return [shares(i, cloud, None if weights is None else weights[i]) for i, cloud in enumerate(clouds)]


def shares(i: int, cloud: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None) -> Float[Tensor, " n"]:
    """The weights of cloud i with sum 1, in float64; even where none are given."""
    if weights is None:
        return cloud.new_full((len(cloud),), 1 / len(cloud), dtype=torch.float64)
    check_dtype(cloud=cloud, weights=weights)
    return weights.double() / check_weights(f"weights of cloud {i}", weights, len(cloud))


def _distances(q: Float[Tensor, "q d"], p: Float[Tensor, "p d"]) -> Float[Tensor, "q p"]:
    """From the differences: a bound must not gain by cancellation."""
    if q.shape[1] != p.shape[1]:
        raise ValueError(f"the families have dimensions {q.shape[1]} and {p.shape[1]}: give clouds of one space")
    return torch.cdist(q, p, compute_mode="donot_use_mm_for_euclid_dist")

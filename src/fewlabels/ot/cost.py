"""The ground cost: Euclidean distance to a power, of two clouds or of two batches of clouds."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from fewlabels.ot.checks import check_order


def squared_distances(x: Float[Tensor, "*#B n d"], y: Float[Tensor, "*#B m d"]) -> Float[Tensor, "*B n m"]:
    """``||x_i - y_j||^2`` through one matrix product; centred first, so that data far from 0 keep their digits."""
    centre = y.detach().mean(-2, keepdim=True)
    x, y = x - centre, y - centre
    one = x.new_ones(1)  # [x, |x|^2, 1] . [-2 y, 1, |y|^2]: the sums happen inside the product
    left = torch.cat([x, x.square().sum(-1, keepdim=True), one.expand(*x.shape[:-1], 1)], -1)
    right = torch.cat([-2 * y, one.expand(*y.shape[:-1], 1), y.square().sum(-1, keepdim=True)], -1)
    product = left @ right.mT
    if product.requires_grad:
        return product.clamp_min(0)
    return product.clamp_min_(0)  # rounding may pass below


def distance_cost(
    x: Float[Tensor, "*#B n d"], y: Float[Tensor, "*#B m d"], order: float = 2
) -> Float[Tensor, "*B n m"]:
    """``M(i, j) = ||x_i - y_j||^order``, the cost of Eq. (1) and (6).

    >>> distance_cost(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]), order=1)
    tensor([[5., 1.]])
    """
    check_order(order)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"x has dimension {x.shape[-1]} and y {y.shape[-1]}: give clouds of one space")
    if order == 2:
        return squared_distances(x, y)
    # A root magnifies what cancellation leaves of a small distance: here the differences themselves are squared.
    distances = torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    return distances if order == 1 else distances.pow(order)


def paired_cost(x: Float[Tensor, "*#B d"], y: Float[Tensor, "*#B d"], order: float = 2) -> Float[Tensor, "*B"]:
    """``||x_i - y_i||^order``, row by row, from the differences; a single row meets every other."""
    if order == 2:
        return (x - y).square().sum(-1)
    distances = torch.linalg.vector_norm(x - y, dim=-1)
    return distances if order == 1 else distances.pow(order)

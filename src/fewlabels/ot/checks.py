"""What the solvers refuse, in sentences with the numbers in them."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

_MASS_SLACK = {
    torch.float64: 1e-6,
    torch.float32: 1e-4,
}  # relative; within it the second marginal is rescaled to the first


def check_dtype(**tensors: Tensor) -> None:
    """All of one floating type that the solvers know, float32 or float64."""
    kinds = {tensor.dtype for tensor in tensors.values()}
    if len(kinds) != 1 or not kinds <= set(_MASS_SLACK):
        got = ", ".join(f"{name} is {tensor.dtype}" for name, tensor in tensors.items())
        raise ValueError(f"{got}: give float32 or float64, the same for all")


def check_cost(cost: Float[Tensor, "n m"]) -> None:
    """A finite, non-negative matrix with at least one row and one column."""
    if cost.ndim != 2 or cost.numel() == 0:
        raise ValueError(f"the cost has shape {tuple(cost.shape)}: give a matrix with at least one row and one column")
    low, high = (float(value) for value in torch.aminmax(cost.detach()))
    if not (low >= 0 and high < float("inf")):
        raise ValueError(f"the cost spans {low:g} to {high:g}: give finite, non-negative numbers")


def check_weights(name: str, weights: Float[Tensor, " n"], n: int) -> float:
    """Finite, non-negative, one a point, not all zero; returns their sum."""
    if weights.shape != (n,):
        raise ValueError(f"{name} has shape {tuple(weights.shape)} for {n} points: give one weight a point")
    if weights.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            f"{name} asks for a gradient, which is not offered: detach it and read plan.potentials instead"
        )
    low, high = (float(value) for value in torch.aminmax(weights))
    if not (low >= 0 and high < float("inf")):
        raise ValueError(f"{name} spans {low:g} to {high:g}: give finite, non-negative weights")
    if high == 0:
        raise ValueError(f"all {n} weights of {name} are 0: give at least one point some mass")
    return float(weights.sum())


def check_marginals(
    a: Float[Tensor, " n"], b: Float[Tensor, " m"], n: int, m: int
) -> tuple[Float[Tensor, " n"], Float[Tensor, " m"], float]:
    """Both weight vectors divided by their common mass, and that mass."""
    check_dtype(a=a, b=b)
    mass_a, mass_b = check_weights("a", a, n), check_weights("b", b, m)
    if abs(mass_a - mass_b) > _MASS_SLACK[a.dtype] * mass_a:
        raise ValueError(f"a sums to {mass_a:.9g} and b to {mass_b:.9g}: scale one so that the masses agree")
    return a / mass_a, b / mass_b, mass_a


def check_cloud(name: str, cloud: Float[Tensor, "n d"]) -> None:
    """At least one point, every coordinate finite."""
    if cloud.ndim != 2 or cloud.shape[0] == 0:
        raise ValueError(f"{name} has shape {tuple(cloud.shape)}: give a matrix with at least one point, one a row")
    if not bool(torch.isfinite(cloud.detach()).all()):
        raise ValueError(f"{name} has coordinates that are not finite: {int((~torch.isfinite(cloud)).sum())} of them")


def check_order(order: float) -> None:
    """W_k is a distance for k >= 1 only."""
    if not 1 <= order < float("inf"):
        raise ValueError(f"order is {order:g}: a Wasserstein distance needs a finite order >= 1")

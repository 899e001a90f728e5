"""What the solvers refuse, in sentences with the numbers in them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

_MASS_SLACK = {torch.float64: 1e-6, torch.float32: 1e-4}  # relative; within it the masses are brought to the same sum
# Shares of the mass below it count as 0: they change no sum, and no kernel holds them beside the others.
_NOTHING = {torch.float64: 1e-200, torch.float32: 1e-30}

Weighted = tuple[Tensor, Tensor]  # points and their weights


def check_dtype(**tensors: Tensor) -> None:
    """All of one floating type that the solvers know, float32 or float64."""
    kinds = {tensor.dtype for tensor in tensors.values()}
    if len(kinds) != 1 or not kinds <= set(_MASS_SLACK):
        got = ", ".join(f"{name} is {tensor.dtype}" for name, tensor in tensors.items())
        raise ValueError(f"{got}: give float32 or float64, the same for all")


def check_cost(cost: Float[Tensor, "n m"]) -> float:
    """A finite, non-negative matrix with at least one row and one column; returns its largest entry."""
    if cost.ndim != 2 or cost.numel() == 0:
        raise ValueError(f"the cost has shape {tuple(cost.shape)}: give a matrix with at least one row and one column")
    low, high = (float(value) for value in torch.aminmax(cost.detach()))
    if not (low >= 0 and high < float("inf")):
        raise ValueError(f"the cost spans {low:g} to {high:g}: give finite, non-negative numbers")
    return high


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
        raise ValueError(f"{name} is 0 at all {n} points: give at least one point some mass")
    return float(weights.sum())


def check_marginals(
    a: Float[Tensor, " n"], b: Float[Tensor, " m"], n: int, m: int
) -> tuple[Float[Tensor, " n"], Float[Tensor, " m"], float]:
    """Both weight vectors divided by their common mass, and that mass."""
    check_dtype(a=a, b=b)
    mass_a, mass_b = check_weights("a", a, n), check_weights("b", b, m)
    if abs(mass_a - mass_b) > _MASS_SLACK[a.dtype] * mass_a:
        raise ValueError(f"a sums to {mass_a:.9g} and b to {mass_b:.9g}: scale one so that the masses agree")
    return _unit(a, mass_a), _unit(b, mass_b), mass_a


def _unit(weights: Float[Tensor, " n"], mass: float) -> Float[Tensor, " n"]:
    return functional.threshold(weights / mass, _NOTHING[weights.dtype], 0.0)


def check_cloud(name: str, cloud: Float[Tensor, "n d"]) -> None:
    """At least one point, every coordinate finite."""
    if cloud.ndim != 2 or cloud.shape[0] == 0:
        raise ValueError(f"{name} has shape {tuple(cloud.shape)}: give a matrix with at least one point, one a row")
    if not bool(torch.isfinite(cloud.detach()).all()):
        raise ValueError(f"{name} has coordinates that are not finite: {int((~torch.isfinite(cloud)).sum())} of them")


def check_pair(first: str, x: Float[Tensor, "n d"], second: str, y: Float[Tensor, "m d"]) -> None:
    """Two clouds of one space."""
    check_cloud(first, x)
    check_cloud(second, y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"{first} has dimension {x.shape[1]} and {second} {y.shape[1]}: give clouds of one space")


def check_power(power: float) -> None:
    """A positive power keeps the order of the distances."""
    if not 0 < power < float("inf"):
        raise ValueError(f"power is {power:g}: give a positive number, 1 as Alg. 2 or the order as Eq. (2)")


def check_loop(tol: float, max_iter: int) -> None:
    """When to stop."""
    if not tol >= 0 or max_iter < 1:
        raise ValueError(f"tol is {tol:g} and max_iter {max_iter}: give at least 0 and at least 1")


def check_order(order: float) -> None:
    """W_k is a distance for k >= 1 only."""
    if not 1 <= order < float("inf"):
        raise ValueError(f"order is {order:g}: a Wasserstein distance needs a finite order >= 1")


def check_family(
    qs: Sequence[Float[Tensor, "_ d"]],
    ps: Sequence[Float[Tensor, "_ d"]],
    a: Sequence[Float[Tensor, " _"]] | None,
    b: Sequence[Float[Tensor, " _"]] | None,
) -> tuple[list[Weighted], list[Weighted], float]:
    """Both families with weights of sum 1, and the one mass that all clouds have."""
    if not len(qs) or not len(ps):
        raise ValueError(f"{len(qs)} and {len(ps)} clouds: give at least one on each side")
    first, second = _weighted("qs", "a", qs, a, qs[0]), _weighted("ps", "b", ps, b, qs[0])
    mass = first[0][2]
    for name, family in (("a", first), ("b", second)):
        for i, (cloud, _, other) in enumerate(family):
            if abs(other - mass) > _MASS_SLACK[cloud.dtype] * mass:
                raise ValueError(
                    f"a[0] sums to {mass:.9g} and {name}[{i}] to {other:.9g}: scale them so that all masses agree"
                )
    return [cloud[:2] for cloud in first], [cloud[:2] for cloud in second], mass


def _weighted(
    name: str, weights_name: str, clouds: Sequence[Tensor], weights: Sequence[Tensor] | None, like: Tensor
) -> list[tuple[Tensor, Tensor, float]]:
    """Points, weights of sum 1 and mass of each cloud; uniform weights have mass 1."""
    if weights is not None and len(weights) != len(clouds):
        raise ValueError(f"{weights_name} has {len(weights)} weight vectors for {len(clouds)} clouds: give one a cloud")
    family = []
    for i, cloud in enumerate(clouds):
        check_cloud(f"{name}[{i}]", cloud)
        if cloud.shape[1] != like.shape[1]:
            raise ValueError(
                f"{name}[{i}] has dimension {cloud.shape[1]} and qs[0] {like.shape[1]}: give clouds of one space"
            )
        if weights is None:
            check_dtype(**{"qs[0]": like, f"{name}[{i}]": cloud})
            family.append((cloud, cloud.new_full((len(cloud),), 1 / len(cloud)), 1.0))
            continue
        given = f"{weights_name}[{i}]"
        check_dtype(**{"qs[0]": like, f"{name}[{i}]": cloud, given: weights[i]})
        mass = check_weights(given, weights[i], len(cloud))
        family.append((cloud, _unit(weights[i], mass), mass))
    return family

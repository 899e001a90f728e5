"""Eq. (3) and (9), App. A and D: entropic transport."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from fewlabels.ot.checks import check_cost, check_dtype, check_marginals
from fewlabels.ot.newton import newton_potentials
from fewlabels.ot.scaling import scale
from fewlabels.ot.types import NotConverged, Plan

_DEFAULT_TOL = {torch.float64: 1e-8, torch.float32: 1e-5}
_LEAST_TOL = {torch.float64: 1e-14, torch.float32: 1e-6}


@dataclass(frozen=True)
class Sinkhorn:
    """The entropic solver; ``reg`` is absolute, in units of the cost; ``debiased`` takes each half self-cost off."""

    reg: float
    tol: float | None = None
    max_iter: int = 10_000
    debiased: bool = False


def sinkhorn(
    cost: Float[Tensor, "n m"],
    a: Float[Tensor, " n"],
    b: Float[Tensor, " m"],
    *,
    reg: float,
    tol: float | None = None,
    max_iter: int = 10_000,
    start: tuple[Float[Tensor, " n"], Float[Tensor, " m"]] | Literal["newton"] | None = None,
    on_failure: Literal["raise", "return"] = "raise",
) -> Plan:
    """``min <T, X> - reg E(T)`` over ``T 1 = a, T' 1 = b`` with ``E(T) = -sum T (log T - 1)`` (Eq. 3, 9).

    Stops when both marginals together are off by at most ``tol`` times the mass in the L1 norm: 1e-8 by default in
    float64, 1e-5 in float32. ``start`` gives potentials of a similar problem, of which the second is used, or says
    ``"newton"``: then Newton's method finds them. Sweeps that crawl come to it by themselves, after having tried.

    >>> half = torch.tensor([0.5, 0.5])
    >>> plan = sinkhorn(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), half, half, reg=1.0)
    >>> plan.matrix
    tensor([[0.3655, 0.1345],
            [0.1345, 0.3655]])
    """
    highest = check_cost(cost)
    check_dtype(cost=cost, a=a, b=b)
    unit_a, unit_b, mass = check_marginals(a, b, *cost.shape)
    tol = check_precision(highest, cost.dtype, reg, tol, max_iter)
    with torch.no_grad():
        rows, columns = unit_a > 0, unit_b > 0  # points without mass take no part
        inner, inner_a, inner_b = _part(cost.detach(), rows, columns), unit_a[rows], unit_b[columns]
        match start:
            case None:
                g = None
            case (_, given):
                g = check_start(given, unit_b)[columns]
            case "newton":
                g = newton_potentials(inner, inner_a, inner_b, reg, tol).to(cost.dtype)
            case _:
                raise ValueError(f"start is {start!r}: give a pair of potentials, 'newton' or None")
        [done] = scale(
            inner[None],
            inner_a[None],
            inner_b[None],
            reg=reg,
            tol=tol,
            max_iter=max_iter,
            highest=highest,
            start=None if g is None else g[None],
        )
        matrix = _whole(cost, rows, columns, done.matrix[0].mul_(mass))
        f = torch.full_like(unit_a, -math.inf).masked_scatter_(rows, done.f[0] + reg * math.log(mass))
        g = torch.full_like(unit_b, -math.inf).masked_scatter_(columns, done.g[0])
    error = float(done.error[0])
    plan = Plan(matrix, cost, (f, g), reg, done.iterations, mass * error, error <= tol)
    if not plan.converged and on_failure != "return":
        raise NotConverged(failure("sinkhorn", done.iterations, error, tol, reg, cost.detach()))
    return plan


def _part(cost: Float[Tensor, "n m"], rows: Bool[Tensor, " n"], columns: Bool[Tensor, " m"]) -> Float[Tensor, "r c"]:
    return cost if rows.all() and columns.all() else cost[rows][:, columns]


def _whole(
    cost: Float[Tensor, "n m"], rows: Bool[Tensor, " n"], columns: Bool[Tensor, " m"], inner: Float[Tensor, "r c"]
) -> Float[Tensor, "n m"]:
    """The plan with its empty rows and columns back in place."""
    if inner.shape == cost.shape:
        return inner
    matrix = torch.zeros_like(cost)
    matrix[rows.nonzero(), columns.nonzero()[:, 0]] = inner
    return matrix


def failure(name: str, iterations: int, error: float, tol: float, reg: float, cost: Float[Tensor, "n m"]) -> str:
    """What happened and what to change."""
    low, high = (float(value) for value in torch.aminmax(cost))
    floating = ", or give float64" if cost.dtype == torch.float32 else ""
    return (
        f"{name} stopped at {iterations} iterations with marginal error {error:.1e} (tol {tol:.0e}): "
        f"raise reg (now {reg:g}; the cost spans {low:.3g} to {high:.3g}) or max_iter{floating}"
    )


def check_precision(highest: float, dtype: torch.dtype, reg: float, tol: float | None, max_iter: int) -> float:
    """The tolerance to use; refuses what the floating type cannot hold for costs up to ``highest``."""
    tol = _DEFAULT_TOL[dtype] if tol is None else tol
    if not tol >= _LEAST_TOL[dtype]:
        remedy = ": use float64" if dtype == torch.float32 else ""
        raise ValueError(f"tol is {tol:g}, out of reach of {dtype} (at least {_LEAST_TOL[dtype]:g}){remedy}")
    if max_iter < 1:
        raise ValueError(f"max_iter is {max_iter}: allow at least one iteration")
    if not 0 < reg < math.inf:
        raise ValueError(f"reg is {reg:g}: give a positive number, or use exact for the plan without entropy")
    least = 64 * torch.finfo(dtype).eps * highest
    if reg < least:
        raise ValueError(
            f"reg is {reg:g}, below the rounding of a {dtype} cost up to {highest:.3g}: raise it to {least:.1e} or more"
        )
    return tol


def check_start(g: Float[Tensor, " m"], b: Float[Tensor, " m"]) -> Float[Tensor, " m"]:
    """Potentials to begin from: finite wherever there is mass."""
    if g.shape != b.shape or g.dtype != b.dtype:
        raise ValueError(f"start has {tuple(g.shape)} {g.dtype} for b: give {tuple(b.shape)} {b.dtype}")
    unusable = int((~torch.isfinite(g) & (b > 0)).sum())
    if unusable:
        raise ValueError(f"start has {unusable} potentials that are not finite where b has mass: leave start out")
    return g

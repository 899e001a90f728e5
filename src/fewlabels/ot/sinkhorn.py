"""Eq. (3) and (9), App. A and D: entropic transport."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from fewlabels.ot.checks import check_cost, check_dtype, check_marginals
from fewlabels.ot.types import NotConverged, Plan

_DEFAULT_TOL = {torch.float64: 1e-8, torch.float32: 1e-5}
_LEAST_TOL = {torch.float64: 1e-14, torch.float32: 1e-6}


@dataclass(frozen=True)
class Sinkhorn:
    """The entropic solver. ``reg`` is absolute, in units of the cost; ``debiased`` takes half of each self-distance off."""

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
    start: tuple[Float[Tensor, " n"], Float[Tensor, " m"]] | None = None,
    on_failure: Literal["raise", "return"] = "raise",
) -> Plan:
    """``min <T, X> - reg E(T)`` over ``T 1 = a, T' 1 = b`` with ``E(T) = -sum T (log T - 1)`` (Eq. 3, 9).

    Stops when both marginals together are off by at most ``tol`` times the mass in the L1 norm.

    >>> half = torch.tensor([0.5, 0.5])
    >>> plan = sinkhorn(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), half, half, reg=1.0)
    >>> plan.matrix
    tensor([[0.3655, 0.1345],
            [0.1345, 0.3655]])
    """
    check_cost(cost)
    check_dtype(cost=cost, a=a, b=b)
    unit_a, unit_b, mass = check_marginals(a, b, *cost.shape)
    tol = check_precision(cost, reg, tol)
    with torch.no_grad():
        f, g, matrix, iterations, error = _solve(cost, unit_a, unit_b, reg, tol, max_iter, start)
    f = f + reg * torch.tensor(mass, dtype=cost.dtype).log().item()
    plan = Plan(mass * matrix, cost, (f, g), reg, iterations, mass * error, error <= tol)
    if not plan.converged and on_failure == "raise":
        raise NotConverged(failure("sinkhorn", plan.iterations, error, tol, reg, cost))
    return plan


def failure(name: str, iterations: int, error: float, tol: float, reg: float, cost: Float[Tensor, "n m"]) -> str:
    """What happened and what to change."""
    return (
        f"{name} stopped at {iterations} iterations with marginal error {error:.1e} (tol {tol:.0e}): "
        f"raise reg (now {reg:g}; the cost spans {float(cost.min()):.3g} to {float(cost.max()):.3g}) or max_iter"
    )


def check_precision(cost: Float[Tensor, "n m"], reg: float, tol: float | None) -> float:
    """The tolerance to use; refuses what the floating type cannot hold."""
    tol = _DEFAULT_TOL[cost.dtype] if tol is None else tol
    if not tol >= _LEAST_TOL[cost.dtype]:
        raise ValueError(
            f"tol is {tol:g}, out of reach of {cost.dtype} (at least {_LEAST_TOL[cost.dtype]:g}): use float64"
        )
    if not reg > 0:
        raise ValueError(f"reg is {reg:g}: give a positive number, or use exact for the plan without entropy")
    least = 64 * torch.finfo(cost.dtype).eps * float(cost.detach().max())
    if reg < least:
        raise ValueError(
            f"reg is {reg:g}, below the rounding of a {cost.dtype} cost up to {float(cost.detach().max()):.3g}: "
            f"raise it to {least:.1e} or more"
        )
    return tol


def _solve(
    cost: Float[Tensor, "n m"],
    a: Float[Tensor, " n"],
    b: Float[Tensor, " m"],
    reg: float,
    tol: float,
    max_iter: int,
    start: tuple[Float[Tensor, " n"], Float[Tensor, " m"]] | None,
) -> tuple[Float[Tensor, " n"], Float[Tensor, " m"], Float[Tensor, "n m"], int, float]:
    log_a, log_b = a.log(), b.log()
    scaled = -cost / reg
    f = torch.zeros_like(a)
    g = torch.zeros_like(b) if start is None else start[1] / reg
    error, iteration = float("inf"), 0
    while error > tol and iteration < max_iter:
        f = log_a - torch.logsumexp(scaled + g, 1)
        g = log_b - torch.logsumexp(scaled + f[:, None], 0)
        iteration += 1
        if iteration % 10 == 0 or iteration == max_iter:
            error = float(((scaled + g).logsumexp(1).add(f).exp() - a).abs().sum())
    matrix = (scaled + f[:, None] + g).exp()
    error = float((matrix.sum(1) - a).abs().sum() + (matrix.sum(0) - b).abs().sum())
    return reg * f, reg * g, matrix, iteration, error

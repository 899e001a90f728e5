"""Eq. (6)-(8): the transport plan itself, by the network simplex of POT."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import ot as pot
import torch
from jaxtyping import Float
from torch import Tensor

from fewlabels.ot.checks import check_cost, check_dtype, check_marginals
from fewlabels.ot.types import NotConverged, Plan


@dataclass(frozen=True)
class Exact:
    """The solver of Eq. (6); ``max_iter`` counts pivots, None for a limit that suits the size."""

    max_iter: int | None = None


def exact(
    cost: Float[Tensor, "n m"],
    a: Float[Tensor, " n"],
    b: Float[Tensor, " m"],
    *,
    max_iter: int | None = None,
) -> Plan:
    """``min <T, M>`` over ``T >= 0, T 1 = a, T' 1 = b`` (Eq. 6) with its dual (Eq. 7, 8), free in sign.

    >>> plan = exact(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75]))
    >>> plan.matrix
    tensor([[0.2500, 0.2500],
            [0.0000, 0.5000]])
    >>> float(plan.cost)
    0.25
    """
    check_cost(cost)
    check_dtype(cost=cost, a=a, b=b)
    if max_iter is not None and max_iter < 1:
        raise ValueError(f"max_iter is {max_iter}: allow at least one pivot, or leave it out")
    unit_a, unit_b, mass = check_marginals(a, b, *cost.shape)
    limit = 100_000 + 1000 * sum(cost.shape) if max_iter is None else max_iter  # random problems take 10 to 40 (n + m)
    inner, inner_a, inner_b = cost.detach().double(), _of_sum_one(unit_a), _of_sum_one(unit_b)
    matrix, g, warning = _network_simplex(inner, inner_a, inner_b, limit)
    if warning is not None:
        raise NotConverged(
            f"exact stopped on {cost.shape[0]} x {cost.shape[1]} after at most {limit} pivots: {warning.strip()}"
        )
    f = (inner - g).amin(1)  # tight where mass moves, feasible everywhere, rows without mass included
    _certify(inner, matrix, float(f @ inner_a + g @ inner_b))
    matrix = (mass * matrix).to(cost.dtype)
    error = (matrix.sum(1) - a).abs().sum() + (matrix.sum(0) - b * (mass / b.sum())).abs().sum()
    potentials = (f.to(cost.dtype), g.to(cost.dtype))
    return Plan(matrix, cost, potentials, reg=0.0, iterations=0, marginal_error=float(error), converged=True)


def _of_sum_one(weights: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """In float64, where weights divided by their sum in float32 miss 1 by more than the proof allows."""
    return weights.double() / weights.double().sum()


def _certify(cost: Float[Tensor, "n m"], matrix: Float[Tensor, "n m"], dual: float) -> None:
    """Refuses a plan that its own potentials do not prove optimal: cost and dual value of Eq. (7) must meet."""
    primal, highest = float((matrix * cost).sum()), float(cost.max())
    if primal - dual > 1e-9 * primal + 1e-13 * highest:
        lowest = float(cost[cost > 0].min())
        raise NotConverged(
            f"exact found a plan of cost {primal:.6g} and can prove only {dual:.6g}: positive costs from "
            f"{lowest:.3g} to {highest:.3g} are too far apart for the network simplex: clip the smallest or the largest"
        )


def _network_simplex(
    cost: Float[Tensor, "n m"], a: Float[Tensor, " n"], b: Float[Tensor, " m"], limit: int
) -> tuple[Float[Tensor, "n m"], Float[Tensor, " m"], str | None]:
    """Plan, column potentials and the solver's complaint, if any; points without mass stay outside.

    Its pivots stop at reduced costs of some 1e-12 whatever the costs are, so they are brought near 2^40 first, by a
    power of 2, which rounds nothing.
    """
    rows, columns = a.nonzero().squeeze(1), b.nonzero().squeeze(1)
    inner = cost if len(rows) == len(a) and len(columns) == len(b) else cost[rows][:, columns]
    power = 40 - math.frexp(float(inner.max()))[1]
    scaled = torch.ldexp(inner, torch.tensor(power))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the complaint is in the log as well
        found, log = pot.emd(a[rows].cpu().numpy(), b[columns].cpu().numpy(), scaled.cpu().numpy(), limit, log=True)
    plan = torch.zeros_like(cost)
    plan[rows[:, None], columns] = torch.from_numpy(found).to(cost)
    f = torch.ldexp(torch.from_numpy(log["u"]).to(cost), torch.tensor(-power))
    g = (cost[rows] - f[:, None]).amin(0)
    return plan, g, log["warning"]

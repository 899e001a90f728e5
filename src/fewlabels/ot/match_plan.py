"""The argmax of each row of an entropic plan whose costs are known between bounds only.

Let T be the plan of X and T* that of X*, with the same marginals and ``|X - X*| <= e``. As ``reg log T`` is
``f + g' - X``, the two satisfy ``reg J = <T* - T, X - X*>`` with ``J = KL(T|T*) + KL(T*|T)``. J is at least the sum of
``(T* - T)^2 / m`` with m their mean, so by Cauchy and Schwarz ``J^(1/2) <= <m, e^2>^(1/2) / reg``, and two entries of
row i together move by at most ``(J beta_i)^(1/2)``. No step is a linearisation: the statement holds for any e.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fewlabels.ot.narrowing import BoundedPairs
from fewlabels.ot.sinkhorn import sinkhorn
from fewlabels.ot.types import Plan

_ROUND = 20  # a round of exact plans takes one pair in so many, then the plan is made again


def plan_argmax(
    pairs: BoundedPairs,
    certified: bool,
    reg: float,
    masses: tuple[Tensor, Tensor] | None,
    power: float,
    error: float,
) -> tuple[Int[Tensor, " q"], Float[Tensor, " q"], Plan]:
    """Labels, by how much of its row's mass each may miss the best, and the plan they were read from."""
    beta, alpha = _masses(pairs.lower, masses)
    while True:
        low, high = pairs.lower.pow(power), pairs.upper.pow(power)
        cost = (low + high) / 2 if certified else low
        uncertain = high - cost
        plan = sinkhorn(cost, beta, alpha, reg=reg)
        missed = _missed(plan.matrix / plan.matrix.sum(), uncertain, reg)
        if not certified or bool((missed <= error).all()) or bool(pairs.exact.all()):
            break
        _solve_most(pairs, plan.matrix * uncertain.square())
    if bool(pairs.exact.all()):
        missed = torch.zeros_like(missed)  # nothing is left but the solvers' own rounding
    return plan.matrix.argmax(1), missed, plan


def _missed(T: Float[Tensor, "q p"], uncertain: Float[Tensor, "q p"], reg: float) -> Float[Tensor, " q"]:
    """How far below the best of its row in T* the argmax of T may lie, as a share of the row; 0: it is the best."""
    squares = uncertain.square()
    mean, most = float((T * squares).sum()), float(squares.max())
    # <T*, e^2> <= <T, e^2> + J^(1/2) max e^2 / 2 turns the bound into a quadratic inequality in J^(1/2).
    root_j = (most / 4 + (most**2 / 16 + 4 * reg**2 * mean) ** 0.5) / (2 * reg**2)
    row = T.sum(1)
    best = T.topk(min(2, T.shape[1]), 1).values
    gap = best[:, 0] - best[:, 1] if T.shape[1] > 1 else row
    return ((root_j * row.sqrt() - gap) / row).clamp(0, 1)


def _solve_most(pairs: BoundedPairs, weight: Float[Tensor, "q p"]) -> None:
    """Solve the pairs that the bound owes most to."""
    weight = torch.where(pairs.exact, -1.0, weight)
    count = min(max(1, weight.numel() // _ROUND), int((~pairs.exact).sum()))
    for index in weight.flatten().topk(count).indices.tolist():
        pairs.solve(*divmod(index, weight.shape[1]))


def _masses(
    cost: Float[Tensor, "q p"], masses: tuple[Tensor, Tensor] | None
) -> tuple[Float[Tensor, " q"], Float[Tensor, " p"]]:
    q, p = cost.shape
    if masses is None:
        return cost.new_full((q,), 1 / q), cost.new_full((p,), 1 / p)
    beta, alpha = masses[0].double(), masses[1].double()
    if not bool((beta > 0).all()):
        raise ValueError(f"masses give {int((beta <= 0).sum())} rows nothing to move: leave those clouds out")
    return beta, alpha

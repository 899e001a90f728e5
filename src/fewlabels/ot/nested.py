"""Eq. (2) and (3): transport between measures of measures, whose ground distance is itself a Wasserstein distance."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from fewlabels.ot.checks import check_power
from fewlabels.ot.exact import Exact, exact
from fewlabels.ot.sinkhorn import sinkhorn
from fewlabels.ot.types import Measures, Plan
from fewlabels.ot.wasserstein import Solver, wasserstein_matrix


def nested_wasserstein(
    m1: Measures,
    m2: Measures,
    order: float = 2,
    *,
    solver: Solver = Exact(),  # noqa: B008 - a frozen value
    outer: Solver = Exact(),  # noqa: B008
) -> Float[Tensor, ""]:
    """``W'_k(M', M)`` of Eq. (2): the k-th root of the least mean of ``W_k^k`` over all couplings of the masses.

    >>> import torch
    >>> near, far = torch.zeros(2, 1), torch.full((3, 1), 4.0)
    >>> half = torch.tensor([0.5, 0.5])
    >>> float(nested_wasserstein(Measures((near, far), half), Measures((near + 1, far + 1), half)))
    1.0
    """
    return nested_plan(m1, m2, order, power=order, solver=solver, outer=outer).cost.pow(1 / order)


def nested_plan(
    m1: Measures,
    m2: Measures,
    order: float = 2,
    *,
    power: float = 1,
    solver: Solver = Exact(),  # noqa: B008
    outer: Solver = Exact(),  # noqa: B008
) -> Plan:
    """T of Eq. (3) on ``X = W_k^power``: from the measures of ``m1`` (rows) to those of ``m2`` (columns).

    Algorithm 2 prices the move of a measure at W_2 itself (``power=1``), Eq. (2) at ``W_k^k`` (``power=order``).

    >>> import torch
    >>> m = Measures((torch.zeros(2, 1), torch.ones(3, 1)), torch.tensor([0.5, 0.5]))
    >>> nested_plan(m, m).matrix
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
    """
    check_power(power)
    cost = wasserstein_matrix(m1.clouds, m2.clouds, order, a=m1.weights, b=m2.weights, solver=solver).pow(power)
    if isinstance(outer, Exact):
        return exact(cost, m1.masses, m2.masses, max_iter=outer.max_iter)
    return sinkhorn(cost, m1.masses, m2.masses, reg=outer.reg, tol=outer.tol, max_iter=outer.max_iter)

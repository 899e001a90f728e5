"""Eq. (1) and (6): W_k between two clouds, and between every pair of two families of clouds."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from fewlabels.ot.checks import check_cloud, check_dtype, check_marginals, check_order
from fewlabels.ot.cost import distance_cost, paired_cost
from fewlabels.ot.exact import Exact, exact
from fewlabels.ot.sinkhorn import Sinkhorn, sinkhorn

Solver = Exact | Sinkhorn


def wasserstein(
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "m d"],
    order: float = 2,
    *,
    a: Float[Tensor, " n"] | None = None,
    b: Float[Tensor, " m"] | None = None,
    solver: Solver = Exact(),  # noqa: B008 - a frozen value
) -> Float[Tensor, ""]:
    """``W_k(x, y) = (min <T, M>)^(1/k)`` with ``M = ||x_i - y_j||^k`` (Eq. 1, 6); ``Sinkhorn`` takes the entropic T.

    Differentiable in the points with ``Exact`` and with a debiased ``Sinkhorn``; the plain entropic cost has no
    envelope gradient and refuses one.

    >>> x = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    >>> float(wasserstein(x, x + torch.tensor([3.0, 4.0]), order=1))
    5.0
    """
    check_order(order)
    check_cloud("x", x)
    check_cloud("y", y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"x has dimension {x.shape[1]} and y {y.shape[1]}: give clouds of one space")
    check_dtype(x=x, y=y)
    a = _uniform(x) if a is None else a
    b = _uniform(y) if b is None else b
    check_marginals(a, b, len(x), len(y))
    return _root(_power(x, y, a, b, order, solver), order)


def wasserstein_matrix(
    qs: Sequence[Float[Tensor, "_ d"]],
    ps: Sequence[Float[Tensor, "_ d"]],
    order: float = 2,
    *,
    a: Sequence[Float[Tensor, " _"]] | None = None,
    b: Sequence[Float[Tensor, " _"]] | None = None,
    solver: Solver = Exact(),  # noqa: B008 - a frozen value
) -> Float[Tensor, "q p"]:
    """``X(i, j) = W_k(Q_i, P_j)`` (Alg. 2, l. 8), every pair of two families of clouds of any sizes.

    >>> family = [torch.zeros(3, 2), torch.ones(5, 2)]
    >>> wasserstein_matrix(family, family, order=1)
    tensor([[0.0000, 1.4142],
            [1.4142, 0.0000]])
    """
    check_order(order)
    if not len(qs) or not len(ps):
        raise ValueError(f"{len(qs)} and {len(ps)} clouds: give at least one on each side")
    rows = []
    for i, q in enumerate(qs):
        row = []
        for j, p in enumerate(ps):
            weights = {"a": None if a is None else a[i], "b": None if b is None else b[j]}
            row.append(wasserstein(q, p, order, **weights, solver=solver))
        rows.append(torch.stack(row))
    return torch.stack(rows)


def _uniform(x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    return x.new_full((len(x),), 1 / len(x))


def _power(
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "m d"],
    a: Float[Tensor, " n"],
    b: Float[Tensor, " m"],
    order: float,
    solver: Solver,
) -> Float[Tensor, ""]:
    """W_k^k."""
    match solver:
        case Sinkhorn(debiased=True):
            both = _objective(x, y, a, b, order, solver)
            own = _objective(x, x, a, a, order, solver) + _objective(y, y, b, b, order, solver)
            return (both - own / 2).clamp_min(0)
        case _ if len(x) == 1 or len(y) == 1:  # one admissible coupling only (Sec. 7.2)
            weights = b if len(x) == 1 else a
            return weights @ paired_cost(x.expand(len(weights), -1), y.expand(len(weights), -1), order)
        case Sinkhorn(reg, tol, max_iter):
            return sinkhorn(distance_cost(x, y, order), a, b, reg=reg, tol=tol, max_iter=max_iter).cost
        case Exact(max_iter):
            plan = exact(
                distance_cost(x.detach().double(), y.detach().double(), order),
                a.double(),
                b.double(),
                max_iter=max_iter,
            )
            i, j = plan.matrix.nonzero(as_tuple=True)
            return plan.matrix[i, j].to(x.dtype) @ paired_cost(x[i], y[j], order)
    raise TypeError(f"solver is {solver!r}: give Exact() or Sinkhorn(reg=...)")


def _objective(
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "m d"],
    a: Float[Tensor, " n"],
    b: Float[Tensor, " m"],
    order: float,
    solver: Sinkhorn,
) -> Float[Tensor, ""]:
    return sinkhorn(
        distance_cost(x, y, order), a, b, reg=solver.reg, tol=solver.tol, max_iter=solver.max_iter
    ).objective


def _root(power: Float[Tensor, ""], order: float) -> Float[Tensor, ""]:
    """The k-th root, with gradient 0 (a subgradient) where two clouds coincide."""
    if order == 1:
        return power
    return torch.where(power > 0, power, torch.ones_like(power)).pow(1 / order) * (power > 0)

"""Eq. (1) and (6): W_k between two clouds, and between every pair of two families of clouds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from fewlabels.ot.checks import check_dtype, check_family, check_marginals, check_order, check_pair
from fewlabels.ot.cost import distance_cost, paired_cost
from fewlabels.ot.exact import Exact, exact
from fewlabels.ot.pairs import Cloud, divergences, transport_costs
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
    check_solver(solver, order)
    check_pair("x", x, "y", y)
    a = uniform(x) if a is None else a
    b = uniform(y) if b is None else b
    check_dtype(x=x, y=y, a=a, b=b)
    unit_a, unit_b, mass = check_marginals(a, b, len(x), len(y))
    (x, unit_a), (y, unit_b) = _held(x, unit_a), _held(y, unit_b)
    match solver:
        case Sinkhorn(debiased=True):
            own = _objective(x, x, unit_a, unit_a, order, solver) + _objective(y, y, unit_b, unit_b, order, solver)
            power = (_objective(x, y, unit_a, unit_b, order, solver) - own / 2).clamp_min(0)
        case _:
            power = _power(x, y, unit_a, unit_b, order, solver)
    return _root(mass * power, order)


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

    Holds the costs of one tile or one pair at a time, whichever is larger (``pairs.TILE``), never those of all points.

    >>> family = [torch.zeros(3, 2), torch.ones(5, 2)]
    >>> wasserstein_matrix(family, family, order=1)
    tensor([[0.0000, 1.4142],
            [1.4142, 0.0000]])
    """
    check_order(order)
    check_solver(solver, order)
    first, second, mass = check_family(qs, ps, a, b)
    held_q, held_p = ([_held(*cloud) for cloud in family] for family in (first, second))
    wanted = torch.is_grad_enabled() and any(cloud.requires_grad for cloud in [*qs, *ps])
    match solver:
        case Sinkhorn(debiased=True) if wanted:
            own_q, own_p = ([_objective(x, x, w, w, order, solver) for x, w in family] for family in (held_q, held_p))
            both = _each(_objective, held_q, held_p, order, solver)
            powers = (both - (torch.stack(own_q)[:, None] + torch.stack(own_p)) / 2).clamp_min(0)
        case Sinkhorn(debiased=True):
            powers = divergences(held_q, held_p, order, solver)
        case Sinkhorn() if not wanted:
            powers = transport_costs(held_q, held_p, order, solver)
        case _:
            powers = _each(_power, held_q, held_p, order, solver)
    return _root(mass * powers, order)


def check_solver(solver: object, order: float) -> None:
    """A solver we know, and a divergence that is one."""
    if not isinstance(solver, Exact | Sinkhorn):
        raise TypeError(f"solver is {solver!r}: give Exact() or Sinkhorn(reg=...)")
    if isinstance(solver, Sinkhorn) and solver.debiased and order > 2:
        raise ValueError(
            f"debiased=True with order {order:g}: exp(-distance^{order:g} / reg) is no positive definite kernel, "
            "so the debiased value may fall below 0 between different clouds: use an order from 1 to 2, or Exact()"
        )


def uniform(x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """Each point the same weight."""
    return x.new_full((len(x),), 1 / len(x))


def _held(
    x: Float[Tensor, "n d"], weights: Float[Tensor, " n"]
) -> tuple[Float[Tensor, "held d"], Float[Tensor, " held"]]:
    """The points that have mass."""
    held = weights > 0
    return (x, weights) if bool(held.all()) else (x[held], weights[held])


def _each(
    value: Callable[..., Float[Tensor, ""]], qs: list[Cloud], ps: list[Cloud], order: float, solver: Solver
) -> Float[Tensor, "q p"]:
    return torch.stack([torch.stack([value(x, y, a, b, order, solver) for y, b in ps]) for x, a in qs])


def _power(
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "m d"],
    a: Float[Tensor, " n"],
    b: Float[Tensor, " m"],
    order: float,
    solver: Solver,
) -> Float[Tensor, ""]:
    """W_k^k, of unit mass."""
    if len(x) == 1 or len(y) == 1:  # one admissible coupling only (Sec. 7.2)
        return (b if len(x) == 1 else a) @ paired_cost(x, y, order)
    if isinstance(solver, Sinkhorn):
        if (x.requires_grad or y.requires_grad) and torch.is_grad_enabled():
            raise ValueError(
                f"the cost <T, M> of an entropic plan (reg {solver.reg:g}) has no gradient here, since T moves "
                "with the points: use Sinkhorn(..., debiased=True) or Exact(), or detach the points"
            )
        cost = distance_cost(x, y, order)
        return sinkhorn(cost, a, b, reg=solver.reg, tol=solver.tol, max_iter=solver.max_iter).cost
    cost = distance_cost(x.detach().double(), y.detach().double(), order)
    plan = exact(cost, a.double(), b.double(), max_iter=solver.max_iter)
    i, j = plan.matrix.nonzero(as_tuple=True)
    return plan.matrix[i, j].to(x.dtype) @ paired_cost(x[i], y[j], order)


def _objective(
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "m d"],
    a: Float[Tensor, " n"],
    b: Float[Tensor, " m"],
    order: float,
    solver: Sinkhorn,
) -> Float[Tensor, ""]:
    cost = distance_cost(x, y, order)
    return sinkhorn(cost, a, b, reg=solver.reg, tol=solver.tol, max_iter=solver.max_iter).objective


def _root(power: Float[Tensor, "*B"], order: float) -> Float[Tensor, "*B"]:
    """The k-th root, with gradient 0 (a subgradient) where two clouds coincide."""
    if order == 1:
        return power
    return torch.where(power > 0, power, torch.ones_like(power)).pow(1 / order) * (power > 0)

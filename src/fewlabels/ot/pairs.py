"""The kernel-domain path of ``wasserstein_matrix``: many small problems, or one large, at a time.

Clouds of similar size go together, padded to one shape. A padded cloud repeats its last point and shares that point's
weight among the copies: the same measure, hence the same distance, and no weight of 0 anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fewlabels.ot.cost import distance_cost, paired_cost
from fewlabels.ot.scaling import Scaled, scale
from fewlabels.ot.sinkhorn import Sinkhorn, check_precision, failure
from fewlabels.ot.types import NotConverged

# Bytes of one tile of costs. On a CPU its kernel stays in a core's cache; a device wants work for all its processors.
# A pair larger than a tile is a tile of its own, so memory is a few times the larger of the tile and the largest pair.
TILE = {"cpu": 3 * 2**19, "cuda": 2**28}

Cloud = tuple[Float[Tensor, "_ d"], Float[Tensor, " _"]]  # points and positive weights of sum 1


@dataclass(frozen=True)
class _Group:
    """Clouds brought to one shape, and their places in the family."""

    places: Int[Tensor, " r"]
    points: Float[Tensor, "r n d"]
    weights: Float[Tensor, "r n"]


def transport_costs(qs: Sequence[Cloud], ps: Sequence[Cloud], order: float, solver: Sinkhorn) -> Float[Tensor, "q p"]:
    """``<T, M>`` of the entropic plan of every pair."""
    values, room = qs[0][0].new_empty(len(qs), len(ps)), qs[0][0].new_empty(0)
    for first, second in _tiles(qs, ps):
        if first.points.shape[1] == 1 or second.points.shape[1] == 1:  # one admissible coupling only (Sec. 7.2)
            weights = first.weights * second.weights
            values[first.places, second.places] = (weights * paired_cost(first.points, second.points, order)).sum(1)
            continue
        for cost, done in _solve(first, second, order, solver, room):
            values[first.places[done.index], second.places[done.index]] = _inner(cost, done)
    return values


def divergences(qs: Sequence[Cloud], ps: Sequence[Cloud], order: float, solver: Sinkhorn) -> Float[Tensor, "q p"]:
    """The debiased value of every pair; what a cloud costs against itself is found once."""
    values, room = qs[0][0].new_empty(len(qs), len(ps)), qs[0][0].new_empty(0)
    for first, second in _tiles(qs, ps):
        for _, done in _solve(first, second, order, solver, room):
            values[first.places[done.index], second.places[done.index]] = _dual(first, second, done, solver.reg)
    own_q, own_p = _own(qs, order, solver), _own(ps, order, solver)
    return (values - (own_q[:, None] + own_p) / 2).clamp_min(0)


def _own(clouds: Sequence[Cloud], order: float, solver: Sinkhorn) -> Float[Tensor, " q"]:
    """Of each cloud against itself."""
    values, room = clouds[0][0].new_empty(len(clouds)), clouds[0][0].new_empty(0)
    for group in _groups(clouds, _side(clouds)):
        for _, done in _solve(group, group, order, solver, room):
            values[group.places[done.index]] = _dual(group, group, done, solver.reg)
    return values


def _inner(cost: Float[Tensor, "B n m"], done: Scaled) -> Float[Tensor, " k"]:
    """``<T, M>``."""
    cost = cost if len(done.index) == len(cost) else cost[done.index]
    return torch.stack([T.flatten() @ M.flatten() for T, M in zip(done.matrix, cost, strict=True)])  # no copy, no batch


def _dual(first: _Group, second: _Group, done: Scaled, reg: float) -> Float[Tensor, " k"]:
    """``<T, M> + reg KL(T | a b')`` by its dual, whose error is the square of that of the potentials.

    Taken against ``a b'``, the entropy does not see how a point's weight is shared among copies, nor do the debiased
    values: the weights' own entropies cancel in them.
    """
    a, b = first.weights[done.index], second.weights[done.index]
    linear = ((done.f - reg * a.log()) * a).sum(1) + ((done.g - reg * b.log()) * b).sum(1)
    return linear - reg * (done.matrix.sum((1, 2)) - 1)


def _tiles(qs: Sequence[Cloud], ps: Sequence[Cloud]) -> Iterator[tuple[_Group, _Group]]:
    """Every pair once: place t of the first group goes with place t of the second."""
    side = _side(ps)
    labelled = list(_groups(ps, side))  # shared by all qs
    for g in _groups(qs, side**2 // max(h.weights.numel() for h in labelled)):
        for h in labelled:
            r, s = len(g.places), len(h.places)
            first = _Group(*(t.repeat_interleave(s, 0) for t in (g.places, g.points, g.weights)))
            yield first, _Group(*(t.repeat(r, *[1] * (t.ndim - 1)) for t in (h.places, h.points, h.weights)))


def _solve(
    first: _Group, second: _Group, order: float, solver: Sinkhorn, room: Tensor
) -> Iterator[tuple[Float[Tensor, "B n m"], Scaled]]:
    """Costs of a tile and its problems as they end, solved in ``room``; an error names the pair."""
    cost = distance_cost(first.points, second.points, order)
    highest = float(cost.max())
    tol = check_precision(highest, cost.dtype, solver.reg, solver.tol, solver.max_iter)
    solve = partial(scale, reg=solver.reg, tol=tol, max_iter=solver.max_iter, highest=highest)
    for done in solve(cost, first.weights, second.weights, kernel=room.resize_(cost.shape)):  # memory that is warm
        late = (done.error > tol).nonzero()[:, 0]
        if len(late):
            k = int(done.index[late[0]])
            pair = f"pair ({int(first.places[k])}, {int(second.places[k])}): sinkhorn"
            raise NotConverged(failure(pair, done.iterations, float(done.error[late[0]]), tol, solver.reg, cost[k]))
        yield cost, done


def _groups(clouds: Sequence[Cloud], room: int) -> Iterator[_Group]:
    """Clouds of similar size together, up to so many points in all."""
    waiting: list[int] = []
    for i in sorted(range(len(clouds)), key=lambda i: len(clouds[i][0])):
        n, d = clouds[i][0].shape
        if waiting and ((len(waiting) + 1) * max(n, d) > room or 2 * n > 3 * len(clouds[waiting[0]][0])):
            yield _group(clouds, waiting)
            waiting = []
        waiting.append(i)
    yield _group(clouds, waiting)


def _side(clouds: Sequence[Cloud]) -> int:
    """Points along one side of a square tile."""
    points = clouds[0][0]
    return math.isqrt(TILE.get(points.device.type, TILE["cuda"]) // points.element_size())


def _group(clouds: Sequence[Cloud], places: list[int]) -> _Group:
    n = max(len(clouds[i][0]) for i in places)
    padded = [_padded(*clouds[i], n) for i in places]
    points, weights = (torch.stack(parts) for parts in zip(*padded, strict=True))
    return _Group(torch.tensor(places, device=points.device), points, weights)


def _padded(points: Float[Tensor, "k d"], weights: Float[Tensor, " k"], n: int) -> Cloud:
    """The same measure on n points: the last one in equal parts."""
    copies = n - len(points) + 1
    if copies == 1:
        return points, weights
    spread = weights[-1:].expand(copies) / copies
    return torch.cat([points, points[-1:].expand(copies - 1, -1)]), torch.cat([weights[:-1], spread])

"""The entropic solvers of other libraries on all pairs of two families, each called as its documentation says.

Every contestant gives the costs, which is timed, and its plans, whose marginals we measure. Thresholds are such that
the L1 error is at most ``tol``: POT stops by the L2 norm of one marginal, whose m entries may make sqrt(m) times that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import geomloss
import jax
import numpy as np
import ot as pot
import torch
from ott.geometry import pointcloud
from ott.solvers import linear
from torch import Tensor

from fewlabels import ot

MANY = 10_000  # iterations at most, as ours; who has not arrived by then is marked

jax.config.update("jax_enable_x64", True)


@dataclass(frozen=True)
class Contestant:
    """``plans`` goes through the pairs row by row."""

    tol: float
    rounds: int
    costs: Callable[[], object]
    plans: Callable[[], Iterator[np.ndarray]]


@dataclass(frozen=True)
class Problem:
    """All pairs of two families with even weights, squared distances, one reg."""

    qs: list[Tensor]
    ps: list[Tensor]
    reg: float

    @cached_property
    def pairs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(q.numpy(), p.numpy()) for q in self.qs for p in self.ps]

    @cached_property
    def padded(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Points and weights of both sides, a pair a place; what is added has weight 0."""
        sides = zip(*self.pairs, strict=True)
        return tuple(part for side in sides for part in _pad(side))  # type: ignore[return-value]


def _pad(side: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    longest = max(map(len, side))
    points, weights = np.zeros((len(side), longest, side[0].shape[1])), np.zeros((len(side), longest))
    for place, x in enumerate(side):
        points[place, : len(x)], weights[place, : len(x)] = x, 1 / len(x)
    return points, weights


def even(n: int) -> np.ndarray:
    return np.full(n, 1 / n)


def ours(problem: Problem, tol: float, rounds: int, dtype: torch.dtype = torch.float64) -> Contestant:
    """The matrix gives no plans and raises where a marginal is off; the plans are those of ``ot.sinkhorn``."""
    qs, ps = ([cloud.to(dtype) for cloud in family] for family in (problem.qs, problem.ps))

    def plans() -> Iterator[np.ndarray]:
        for q in qs:
            for p in ps:
                a, b = (x.new_full((len(x),), 1 / len(x)) for x in (q, p))
                yield ot.sinkhorn(ot.distance_cost(q, p), a, b, reg=problem.reg, tol=tol).matrix.numpy()

    solver = ot.Sinkhorn(problem.reg, tol)
    return Contestant(tol, rounds, lambda: ot.wasserstein_matrix(qs, ps, solver=solver), plans)


def pot_loop(problem: Problem, tol: float, rounds: int, method: str, *, own_norm: bool = False) -> Contestant:
    """A Python loop over ``ot.sinkhorn``."""

    def each() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for x, y in problem.pairs:
            cost = pot.dist(x, y)
            threshold = tol if own_norm else tol / math.sqrt(max(cost.shape))
            options = {"method": method, "numItermax": MANY, "stopThr": threshold, "warn": False}
            yield cost, pot.sinkhorn(even(len(x)), even(len(y)), cost, problem.reg, **options)

    return Contestant(tol, rounds, lambda: [(T * cost).sum() for cost, T in each()], lambda: (T for _, T in each()))


def pot_batch(problem: Problem, tol: float, rounds: int, method: str) -> Contestant:
    """All pairs at once, which go on until the last has ended."""
    x, a, y, b = (torch.from_numpy(part) for part in problem.padded)

    def solve() -> pot.utils.OTResult:
        cost = pot.batch.dist_batch(x, y)
        threshold = tol / math.sqrt(max(cost.shape[1:]))
        return pot.batch.solve_batch(
            cost, problem.reg, a, b, max_iter=MANY, tol=threshold, method=method, grad="detach"
        )

    def plans() -> Iterator[np.ndarray]:
        for T, (q, p) in zip(solve().plan.numpy(), problem.pairs, strict=True):
            yield T[: len(q), : len(p)]

    return Contestant(tol, rounds, lambda: solve().value_linear, plans)


def ott(problem: Problem, tol: float, rounds: int, *, lse: bool) -> Contestant:
    """All pairs at once under ``vmap``; compiled before it is timed."""
    parts = tuple(jax.numpy.asarray(part) for part in problem.padded)

    @jax.jit
    @jax.vmap
    def solve(x: jax.Array, a: jax.Array, y: jax.Array, b: jax.Array) -> tuple[jax.Array, ...]:
        geometry = pointcloud.PointCloud(x, y, epsilon=problem.reg)
        found = linear.solve(geometry, a, b, lse_mode=lse, threshold=tol, max_iterations=MANY)
        return found.primal_cost, found.f, found.g

    def plans() -> Iterator[np.ndarray]:
        _, fs, gs = (np.asarray(part) for part in solve(*parts))
        for f, g, (x, y) in zip(fs, gs, problem.pairs, strict=True):
            yield np.exp((f[: len(x), None] + g[: len(y)] - pot.dist(x, y)) / problem.reg)

    return Contestant(tol, rounds, lambda: jax.block_until_ready(solve(*parts)), plans)


def geom(problem: Problem, tol: float, rounds: int, scaling: float) -> Contestant:
    """A loop over ``SamplesLoss``, whose cost is half the squared distance; it follows a schedule, not a tolerance."""
    blur = math.sqrt(problem.reg / 2)
    loss = partial(geomloss.SamplesLoss, "sinkhorn", p=2, blur=blur, scaling=scaling, debias=False)
    value, potentials = loss(backend="tensorized"), loss(backend="tensorized", potentials=True)
    pairs = [(q, p) for q in problem.qs for p in problem.ps]

    def plans() -> Iterator[np.ndarray]:
        for q, p in pairs:
            f, g = potentials(q, p)
            exponent = (f.view(-1, 1) + g.view(1, -1) - ot.distance_cost(q, p) / 2) / blur**2
            yield (exponent.exp() / (len(q) * len(p))).numpy()

    return Contestant(tol, rounds, lambda: [2 * value(q, p) for q, p in pairs], plans)


def contestants(problem: Problem, tol: float, loose: float, rounds: int, slow: int) -> dict[str, Contestant]:
    """``tol`` for all in float64; ``loose`` for ours in float32 and the fastest peer; ``slow`` rounds for the slow."""
    return {
        "ours": ours(problem, tol, rounds),
        "POT kernel": pot_loop(problem, tol, rounds, "sinkhorn"),
        "POT kernel, its own norm": pot_loop(problem, tol, rounds, "sinkhorn", own_norm=True),
        f"ours float32 {loose:.0e}": ours(problem, loose, rounds, torch.float32),
        f"POT kernel {loose:.0e}": pot_loop(problem, loose, rounds, "sinkhorn"),
        "POT stabilized": pot_loop(problem, tol, slow, "sinkhorn_stabilized"),
        "POT log": pot_loop(problem, tol, slow, "sinkhorn_log"),
        "POT batch kernel": pot_batch(problem, tol, slow, "sinkhorn"),
        "POT batch log": pot_batch(problem, tol, slow, "log_sinkhorn"),
        "OTT kernel": ott(problem, tol, slow, lse=False),
        "OTT log": ott(problem, tol, slow, lse=True),
        "GeomLoss scaling .5": geom(problem, tol, slow, 0.5),
    }

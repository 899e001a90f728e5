"""All pairs of two families by entropic transport: against POT, OTT-JAX and GeomLoss, and how the time grows.

    .bench-venv/bin/python benchmarks/ot_solvers.py [--only reg-0.05|reg-0.01|growth] [--smoke]

10 classes, 4,000 + 4,000 outputs, one thread, medians of interleaved rounds; padding for the peers that solve a batch
and compiling are not timed. ``reg`` is a share of the mean squared distance, one for all pairs. Each contestant's plans
are measured apart: the L1 error of both marginals, and how far <T, M> is from that of a far smaller tolerance.
"""

from __future__ import annotations

import importlib.metadata
import statistics
from functools import partial

import numpy as np
import torch
from rounds import Row, exponent, line, record, run, times, turns
from softmax import families
from torch import Tensor

from fewlabels import ot

TOL, LOOSE, REFERENCE = 1e-8, 1e-4, 1e-11
CLASSES = 10


def mean_squared_distance(qs: list[Tensor], ps: list[Tensor]) -> float:
    """Over all points of the one family and all of the other."""
    x, y = torch.cat(qs), torch.cat(ps)
    return float(x.square().sum(1).mean() + y.square().sum(1).mean() - 2 * x.mean(0) @ y.mean(0))


def against_peers(share: float, fastest: bool, smoke: bool) -> None:
    """One table at this share of the mean squared distance: every contestant, or ours and the fastest peer."""
    from ot_peers import Problem, contestants, ours  # JAX, OTT-JAX and GeomLoss: only this row needs them

    n, tol = (400, LOOSE) if smoke else (4000, TOL)
    qs, ps = families(n, CLASSES)
    problem = Problem(qs, ps, share * mean_squared_distance(qs, ps))
    runners = contestants(problem, tol, LOOSE, rounds=2 if smoke else 9, slow=1 if smoke else 3)
    if fastest:  # the others take minutes a round where reg is small
        runners = {name: runner for name, runner in runners.items() if name.startswith(("ours", "POT kernel"))}
    truth = [measure(T, *pair)[1] for T, pair in zip(ours(problem, REFERENCE, 1).plans(), problem.pairs, strict=True)]
    quality = {}
    for name, runner in runners.items():  # this warms it up as well
        found = [measure(T, *pair) for T, pair in zip(runner.plans(), problem.pairs, strict=True)]
        off = max(abs(cost / true - 1) for (_, cost), true in zip(found, truth, strict=True))
        quality[name] = {"marginal_error": max(error for error, _ in found), "cost_error": off}
        runner.costs()
    spent = turns({k: r.costs for k, r in runners.items()}, {k: r.rounds for k, r in runners.items()})
    fields = {}
    for name, runner in runners.items():
        fields[name] = {
            "seconds": statistics.median(spent[name]),
            "times_ours": times(spent[name], spent["ours"]),
            "times_ours_float32": times(spent[name], spent[f"ours float32 {LOOSE:.0e}"]),
            "rounds": runner.rounds,
            "tol": runner.tol,
            "reached": quality[name]["marginal_error"] <= runner.tol,
            **quality[name],
        }
        note = f"error {quality[name]['marginal_error']:.1e}, cost off by {quality[name]['cost_error']:.0e}"
        missed = "" if fields[name]["reached"] else f"  NOT the {runner.tol:.0e} asked for"
        line(f"reg {share:g}, n = m = {n}", name, fields[name]["seconds"], fields[name]["times_ours"], note + missed)
    versions = {name: importlib.metadata.version(name) for name in ("jax", "ott-jax", "geomloss")}
    setting = {"classes": CLASSES, "n": n, "reg_share": share, "reg": problem.reg, "peers": versions}
    record("ot_solvers.jsonl", "all pairs", {**setting, "contestants": fields}, smoke=smoke)


def measure(T: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The L1 error of both marginals of a plan between even weights, and <T, M>."""
    T = T.astype(np.float64)
    error = np.abs(T.sum(1) - 1 / len(x)).sum() + np.abs(T.sum(0) - 1 / len(y)).sum()
    cost = ot.distance_cost(torch.from_numpy(x), torch.from_numpy(y)).numpy()
    return float(error), float((T * cost).sum())


def growth(smoke: bool) -> None:
    """Seconds at four sizes; the exponent is that of n x m."""
    sizes = [100, 200, 400, 800] if smoke else [1000, 2000, 4000, 8000]
    works = {}
    for n in sizes:
        qs, ps = families(n, CLASSES)
        solver = ot.Sinkhorn(0.05 * mean_squared_distance(qs, ps), TOL)
        works[str(n)] = partial(ot.wasserstein_matrix, qs, ps, solver=solver)
        works[str(n)]()
    spent = turns(works, dict.fromkeys(works, 5))
    medians = [statistics.median(spent[str(n)]) for n in sizes]
    for n, middle in zip(sizes, medians, strict=True):
        line("all pairs, reg 0.05", f"n = m = {n}", middle, None)
    power = exponent([n * n for n in sizes], medians)
    print(f"time grows as (n m)^{power:.2f}")
    fields = {"classes": CLASSES, "sizes": sizes, "seconds": medians, "exponent_of_nm": power, "reg_share": 0.05}
    record("ot_solvers.jsonl", "all pairs, growth", fields, smoke=smoke)


if __name__ == "__main__":
    run(
        {
            "reg-0.05": Row(partial(against_peers, 0.05, False)),
            "reg-0.01": Row(partial(against_peers, 0.01, True)),
            "growth": Row(growth),
        }
    )

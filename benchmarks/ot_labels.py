"""Which class each cluster takes: `match_rows` against a loop over POT's exact solver, and labels among 1,000 classes.

    .bench-venv/bin/python benchmarks/ot_labels.py [--only 10-classes|100-classes|1000-classes] [--smoke]

Labels are the row minima of W_2 between clusters of unlabelled outputs and classes of labelled ones. One thread, but
two for 1,000 classes: 100,000 + 100,000 outputs in float32, whose whole way is timed, clustering included.
"""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import numpy as np
import ot as pot
import torch
from rounds import Row, line, peak, record, run, seconds
from softmax import families, softmax_outputs
from torch import Tensor

from fewlabels import ot
from fewlabels.labels import match

WAYS = ("bound", "certified")
PIVOTS = 10**8  # more than any pair takes


def exact_loop(pairs: list[list[tuple[np.ndarray, np.ndarray]]]) -> np.ndarray:
    """The row minima, by ``ot.emd2``."""
    costs = [[_emd2(x, y) for x, y in row] for row in pairs]
    return np.argmin(costs, 1)


def _emd2(x: np.ndarray, y: np.ndarray) -> float:
    a, b = (np.full(len(z), 1 / len(z)) for z in (x, y))
    return float(pot.emd2(a, b, pot.dist(x, y), numItermax=PIVOTS))


def rows(classes: int, n: int, seeds: int, repeats: int, smoke: bool) -> None:
    """Each seed is a round: the exact loop once, ours as often as it takes for a median."""
    n = n // 10 if smoke else n
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    exact = []
    for seed in range(seeds):
        qs, ps = families(n, classes, 2 * seed)
        ot.match_rows(qs[:1], ps[:1], mode="bound")  # what is loaded at the first call
        spent, truth = seconds(partial(exact_loop, [[(q.numpy(), p.numpy()) for p in ps] for q in qs]))
        exact.append(spent)
        sizes = np.array([len(q) for q in qs])
        for way in WAYS:
            tries = [seconds(partial(ot.match_rows, qs, ps, mode=way)) for _ in range(repeats)]
            matched = tries[0][1]
            equal = matched.labels.numpy() == truth
            middle = statistics.median(t for t, _ in tries)
            found[way].append(
                {
                    "seconds": middle,
                    "times_faster": spent / middle,
                    "equal_rows": float(equal.mean()),
                    "equal_points": float((equal * sizes).sum() / sizes.sum()),
                    "certified_rows": float(matched.certified.double().mean()),
                    "solved": matched.solved,
                }
            )
    line(f"rows, c = {classes}, n = m = {n}", "POT exact loop", statistics.median(exact), None)
    for way in WAYS:
        faster = statistics.median(one["times_faster"] for one in found[way])
        equal, solved = (statistics.mean(one[key] for one in found[way]) for key in ("equal_rows", "solved"))
        note = f"faster; {equal:.2%} of rows equal, {solved:.1f} of {classes**2} pairs solved exactly"
        middle = statistics.median(one["seconds"] for one in found[way])
        line(f"rows, c = {classes}, n = m = {n}", f"ours, {way}", middle, faster, note)
    fields = {"classes": classes, "n": n, "seeds": seeds, "repeats": repeats, "pairs": classes**2}
    record("ot_labels.jsonl", "row minima", {**fields, "exact_seconds": exact, "ours": found}, smoke=smoke)


def many_classes(smoke: bool) -> None:
    """Clusters, bounds of all pairs, the plan of Eq. (3) and its labels; then the stages that ``ot`` alone has."""
    classes, n = (100, 2_000) if smoke else (1000, 100_000)
    x_l, y_l = blocks(n, classes, 0)
    x_u, y_u = blocks(n, classes, 1)
    inputs = peak()
    spent, matching = seconds(partial(match, x_l, y_l, x_u, classes=classes))
    highest = peak()
    labels = matching.labels[matching.clustering.assignment]
    correct = float((labels == y_u).double().mean())
    assignment = matching.clustering.assignment
    qs, ps = ([x[of == j] for j in range(classes)] for x, of in ((x_u, assignment), (x_l, y_l)))
    bound, _ = seconds(partial(ot.match_rows, [q for q in qs if len(q)], ps, mode="bound"))
    fields = {
        "classes": classes,
        "n": n,
        "dimension": x_u.shape[1],
        "dtype": "float32",
        "seconds": spent,
        "bound_seconds": bound,
        "iterations": matching.clustering.iterations,
        "gb": highest,
        "gb_with_the_inputs_alone": inputs,
        "accuracy": correct,
        "accuracy_of_the_argmax": float((x_u.argmax(1) == y_u).double().mean()),
    }
    note = f"{highest:.2f} GB at its peak, of which {inputs:.2f} before; {correct:.1%} right"
    line(f"labels, c = {classes}, n = m = {n}", "clusters, bounds, plan", spent, None, note)
    line(f"labels, c = {classes}, n = m = {n}", "match_rows, bound", bound, None)
    record("ot_labels.jsonl", "labels among many classes", fields, smoke=smoke)


def blocks(n: int, classes: int, seed: int) -> tuple[Tensor, Tensor]:
    """Outputs in float32 written a block at a time, so that making them is not what takes the memory."""
    size = 10 * classes
    outputs, truth = torch.empty(n, classes), torch.empty(n, dtype=torch.long)
    for first in range(0, n, size):
        rows = slice(first, first + size)
        outputs[rows], truth[rows] = softmax_outputs(size, classes, 1_000 * seed + first // size, torch.float32)
    return outputs, truth


if __name__ == "__main__":
    run(
        {
            "10-classes": Row(partial(rows, 10, 4_000, 9, 5)),
            "100-classes": Row(partial(rows, 100, 50_000, 1, 3)),
            "1000-classes": Row(many_classes, threads=2),
        }
    )

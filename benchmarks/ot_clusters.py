"""Clusters: `barycenter_clusters` against scikit-learn's Lloyd and against Algorithm 1 taken literally, and its growth.

    .bench-venv/bin/python benchmarks/ot_clusters.py [--only lloyd-10|lloyd-100|literal|million|growth] [--smoke]

Starts are the class means of labelled outputs. Both Lloyds go on until nothing moves, at most 300 rounds. One thread;
two for a million outputs. Medians of interleaved rounds.
"""

from __future__ import annotations

import statistics
import warnings
from functools import partial

import sklearn
import torch
from rounds import Row, exponent, line, peak, record, run, seconds, times, turns
from sklearn.cluster import KMeans
from softmax import softmax_outputs
from torch import Tensor

from fewlabels import ot

REG = 0.05
MAX_ITER = 300


def problem(n: int, classes: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Unlabelled outputs, and the class means of a tenth as many labelled ones."""
    labelled, truth = softmax_outputs(max(n // 10, 10 * classes), classes, 0, dtype)
    means = torch.stack([labelled[truth == j].mean(0) for j in range(classes)])
    return softmax_outputs(n, classes, 1, dtype)[0], means


def lloyd(classes: int, n: int, smoke: bool) -> None:
    """The same start, the same end, the same objective: the mean squared distance to the nearest centre."""
    n = n // 10 if smoke else n
    for dtype in (torch.float64, torch.float32):
        x, init = problem(n, classes, dtype)
        theirs = KMeans(classes, init=init.numpy(), n_init=1, algorithm="lloyd", tol=0, max_iter=MAX_ITER)
        works = {
            "ours": partial(ot.barycenter_clusters, x, classes, init=init, tol=0, max_iter=MAX_ITER),
            "scikit-learn": partial(theirs.fit, x.numpy()),
        }
        found, model = works["ours"](), works["scikit-learn"]()
        ends = {
            "ours": {"objective": found.objective, "iterations": found.iterations},
            "scikit-learn": {"objective": float(model.inertia_ / n), "iterations": int(model.n_iter_)},
        }
        spent = turns(works, dict.fromkeys(works, 3 if smoke else 11))
        fields = {}
        for name, end in ends.items():
            ratio = times(spent[name], spent["scikit-learn"])
            fields[name] = {"seconds": statistics.median(spent[name]), "times_scikit_learns": ratio, **end}
            note = f"objective {end['objective']:.9f} after {end['iterations']} rounds"
            line(f"Lloyd, k = {classes}, n = {n}, {short(dtype)}", name, fields[name]["seconds"], ratio, note)
        setting = {"k": classes, "n": n, "dtype": short(dtype), "rounds": len(spent["ours"])}
        setting |= {"scikit_learn": sklearn.__version__, "contestants": fields}
        record("ot_clusters.jsonl", "Lloyd", setting, smoke=smoke)


def literal(smoke: bool) -> None:
    """The entropic form, each to its own end; the closed form's is a thousandth of its default."""
    k, n = 10, 200 if smoke else 4_000
    x, init = problem(n, k, torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rounds = 1 if smoke else 100
        slow, reference = seconds(partial(ot.reference_barycenter, x, k, reg=REG, init=init, max_iter=rounds))
    closed = partial(ot.barycenter_clusters, x, k, reg=REG, init=init, tol=1e-9, max_iter=10_000)
    found = closed()
    spent = statistics.median(turns({"ours": closed}, {"ours": 11})["ours"])
    fields = {
        "k": k,
        "n": n,
        "reg": REG,
        "seconds": spent,
        "objective": found.objective,
        "iterations": found.iterations,
        "converged": found.converged,
        "literal_seconds": slow,
        "literal_objective": reference.objective,
        "literal_iterations": reference.iterations,
        "literal_converged": reference.converged,
        "times_faster": slow / spent,
    }
    row = f"Alg. 1, k = {k}, n = {n}, reg {REG}"
    for name, one, middle in (("ours", found, spent), ("literal", reference, slow)):
        note = f"objective {one.objective:.9f} after {one.iterations} rounds, converged: {one.converged}"
        line(row, name, middle, middle / spent, note)
    record("ot_clusters.jsonl", "the literal algorithm", fields, smoke=smoke)


def million(smoke: bool) -> None:
    """Seconds and memory of many outputs in float32, written a block at a time."""
    k, n, size = 100, 20_000 if smoke else 1_000_000, 10_000
    _, init = problem(size, k, torch.float32)
    x = torch.empty(n, k)
    for first in range(0, n, size):
        x[first : first + size], _ = softmax_outputs(size, k, 2 + first // size, torch.float32)
    inputs = peak()
    spent, found = seconds(partial(ot.barycenter_clusters, x, k, init=init))
    fields = {
        "k": k,
        "n": n,
        "dtype": "float32",
        "seconds": spent,
        "objective": found.objective,
        "iterations": found.iterations,
        "converged": found.converged,
        "gb": peak(),
        "gb_with_the_inputs_alone": inputs,
    }
    note = f"{fields['gb']:.2f} GB at its peak, of which {inputs:.2f} before; {found.iterations} rounds"
    line(f"Lloyd, k = {k}, n = {n}, float32", "ours", spent, None, note)
    record("ot_clusters.jsonl", "a million outputs", fields, smoke=smoke)


def growth(smoke: bool) -> None:
    """Seconds at four sizes, of as many rounds each."""
    k, rounds = 10, 20
    sizes = [1_000, 2_000, 4_000, 8_000] if smoke else [25_000, 50_000, 100_000, 200_000]
    for name, reg in (("Lloyd", 0.0), ("entropic", REG)):
        works = {}
        for n in sizes:
            x, init = problem(n, k, torch.float64)
            init = x[:k] * 0.1 + init * 0.9  # a start far enough from the end for all the rounds
            works[str(n)] = partial(ot.barycenter_clusters, x, k, reg=reg, init=init, tol=0, max_iter=rounds)
        iterations = [work().iterations for work in works.values()]
        spent = turns(works, dict.fromkeys(works, 5))
        medians = [statistics.median(spent[str(n)]) for n in sizes]
        for n, middle, taken in zip(sizes, medians, iterations, strict=True):
            line(f"{name}, k = {k}", f"n = {n}", middle, None, f"{taken} rounds")
        power = exponent(sizes, [middle / taken for middle, taken in zip(medians, iterations, strict=True)])
        print(f"time of a round grows as n^{power:.2f}")
        fields = {"k": k, "reg": reg, "sizes": sizes, "seconds": medians, "iterations": iterations, "exponent": power}
        record("ot_clusters.jsonl", "growth", fields, smoke=smoke)


def short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


if __name__ == "__main__":
    run(
        {
            "lloyd-10": Row(partial(lloyd, 10, 4_000)),
            "lloyd-100": Row(partial(lloyd, 100, 50_000)),
            "literal": Row(literal),
            "million": Row(million, threads=2),
            "growth": Row(growth),
        }
    )

"""How the benchmarks of `ot` run: a row a process, its threads pinned; contestants take turns, so that ratios hold."""

from __future__ import annotations

import argparse
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from records import append


@dataclass(frozen=True)
class Row:
    """One comparison; ``work`` is told whether this is a trial at tiny sizes."""

    work: Callable[[bool], None]
    threads: int = 1


def run(rows: Mapping[str, Row]) -> None:
    """Every row in a process of its own, whose peak of memory and threads are then its own; or the one asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=rows)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes; nothing is recorded")
    asked = parser.parse_args()
    if asked.only is None:
        for name in rows:
            subprocess.run([sys.executable, sys.argv[0], "--only", name, *sys.argv[1:]], check=True)
    else:
        pin(rows[asked.only].threads)
        rows[asked.only].work(asked.smoke)


def pin(threads: int) -> None:
    """Start this script again where no library takes more threads: they read these names as they are loaded.

    Where the system can bind a process to cores, it is bound: JAX has no other setting that all of it obeys.
    """
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    wanted = dict.fromkeys(names, str(threads)) | {"JAX_PLATFORMS": "cpu", "BENCH_THREADS": str(threads)}
    if os.environ.get("BENCH_THREADS") == str(threads):
        torch.set_num_threads(threads)
        return
    if threads == 1:
        wanted["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | wanted)


def turns(works: Mapping[str, Callable[[], Any]], rounds: Mapping[str, int]) -> dict[str, list[float]]:
    """Seconds of each, round after round; who has fewer rounds than the others sits out the last ones."""
    spent: dict[str, list[float]] = {name: [] for name in works}
    for round_ in range(max(rounds.values())):
        for name, work in works.items():
            if round_ < rounds[name]:
                spent[name].append(seconds(work)[0])
    return spent


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long it took, and what it gave."""
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def times(spent: list[float], base: list[float]) -> float:
    """How many times as long as ``base``: the median over the rounds that both took part in."""
    return statistics.median(one / other for one, other in zip(spent, base, strict=False))


def exponent(sizes: list[int], spent: list[float]) -> float:
    """p of the least-squares line ``log seconds = p log size + const``."""
    x, y = [math.log(n) for n in sizes], [math.log(s) for s in spent]
    return statistics.linear_regression(x, y).slope


def peak() -> float:
    """GB this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def record(file: str, name: str, fields: dict[str, Any], *, smoke: bool) -> None:
    """Append what was measured, unless at sizes that measure nothing."""
    if not smoke:
        append(file, name, fields)


def line(row: str, name: str, spent: float, ratio: float | None, note: str = "") -> None:
    """One line of a table."""
    share = "" if ratio is None else f"{ratio:9.2f} x"
    print(f"{row:34} {name:30} {spent:10.4f} s {share:11}  {note}", flush=True)

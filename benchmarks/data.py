"""What it takes to begin: opening the benchmarks, importing, asking for help, the memory of a run.

    python benchmarks/data.py [--repeats 7]

Each number is a fresh interpreter's. Opening is timed within it, after the import of torch.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from records import append

OPEN = """
import sys, time
import torch
from fewlabels.data.sources import open_source
began = time.perf_counter()
source = open_source(sys.argv[1])
print(time.perf_counter() - began, len(source.train) + len(source.test))
"""
IMPORTS = {
    "import torch": "import torch",
    "import torch, fewlabels": "import torch, fewlabels",
    "import torch, all of fewlabels": "import torch, fewlabels; fewlabels.fit, fewlabels.ROTClassifier, fewlabels.ot",
    "fewlabels --help": "from fewlabels.cli import call; call(['--help'])",
}
MEMORY = """
import resource, sys
import torch
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
from pathlib import Path
from fewlabels.train.config import Config
from fewlabels.train.run import start
overrides = {"epoch_steps": 8, "warmup": 0.5, "pool": 2048}
start(Config("cifar10", method=sys.argv[1], steps=16, overrides=overrides), Path(sys.argv[2]))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 2**20)
"""


def fresh(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def opening(repeats: int) -> None:
    """Seconds from the archives on the disk to tensors."""
    for name in ("cifar10", "svhn"):
        found = [fresh(OPEN, name).split() for _ in range(repeats)]
        median = statistics.median(float(spent) for spent, _ in found)
        print(f"{name} opens in {median:.2f} s: {int(found[0][1]):,} images")
        append("data.jsonl", "opening", {"data": name, "seconds": median, "repeats": repeats})


def start_up(repeats: int) -> None:
    """What importing the package adds to importing torch, and how soon help is there."""
    spent: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(repeats):
        for name, code in IMPORTS.items():
            began = time.perf_counter()
            fresh(code)
            spent[name].append(time.perf_counter() - began)
    median = {name: statistics.median(values) for name, values in spent.items()}
    beyond = {name: median[name] - median["import torch"] for name in median if ", " in name}
    print("; ".join(f"{name} {value:.2f} s" for name, value in median.items()))
    print("; ".join(f"{name}: {value:+.2f} s beyond torch" for name, value in beyond.items()))
    append("data.jsonl", "start-up", {"seconds": median, "beyond_torch": beyond, "repeats": repeats})


def memory() -> None:
    """GB that a CIFAR-10 run takes at its peak, beyond importing torch."""
    for method in ("supervised", "rot"):
        with tempfile.TemporaryDirectory() as place:
            peak = float(fresh(MEMORY, method, str(Path(place) / "run")).split()[-1])
        print(f"a CIFAR-10 run of {method} takes {peak:.2f} GB beyond torch at its peak")
        append("data.jsonl", "peak memory of a CIFAR-10 run beyond torch", {"method": method, "gb": peak})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=7)
    times = parser.parse_args().repeats
    opening(times)
    start_up(times)
    memory()

"""Two moons with six labels: every method against its recipe on the labels alone, on ten seeds.

    PYTHONPATH=tests/methods python benchmarks/moons.py [METHOD ...]

The first five seeds are those of tests/methods/test_moons.py, on which the number of labels and steps was chosen; the
other five were looked at once.
"""

from __future__ import annotations

import sys

import torch
from records import append
from two_moons import NAMES, error, without


def compare(name: str, seed: int) -> None:
    """Print and store the errors of one method on one seed."""
    mine, alone = error(name, seed), without(seed)
    print(f"{name}, seed {seed}: {mine:.2%} against {alone:.2%}", flush=True)
    append("moons.jsonl", "two moons", {"method": name, "seed": seed, "error": mine, "without": alone})


if __name__ == "__main__":
    torch.set_num_threads(1)
    for chosen in sys.argv[1:] or NAMES:
        for seed in range(10):
            compare(chosen, seed)

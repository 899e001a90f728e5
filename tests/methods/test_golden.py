"""Twenty steps of every method give the losses they gave before.

The numbers stand in ``golden.json``. When a change is meant, ``python tests/methods/test_golden.py`` writes them anew.
"""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest
import torch
from small_runs import CLASSES, trace

from fewlabels.methods import METHODS
from fewlabels.models import SmallNet

FILE = Path(__file__).with_name("golden.json")
GOLDEN: dict[str, list[float]] = json.loads(FILE.read_text()) if FILE.exists() else {}
# Weights that differ by a millionth, more than two kinds of CPU do, move no loss of these by more than half a percent.
NEAR = 0.02


@pytest.mark.parametrize("name", METHODS)
def test_twenty_steps_are_as_they_were(name):
    assert trace(name) == pytest.approx(GOLDEN[name], rel=NEAR)


@pytest.mark.parametrize("name", ["entmin", "mean-teacher"])  # those that moved most
def test_a_rounding_error_makes_no_other_run(name):
    torch.manual_seed(0)
    network = SmallNet(classes=CLASSES, channels=1)
    with torch.no_grad():
        for p in network.parameters():
            p.mul_(1 + 1e-6 * torch.randn(p.shape))
    assert trace(name, network) == pytest.approx(GOLDEN[name], rel=NEAR)


def test_every_method_has_a_trace_of_its_own():
    assert list(GOLDEN) == list(METHODS)
    assert all(len(losses) == 20 for losses in GOLDEN.values())
    for one, other in combinations(GOLDEN, 2):
        apart = max(abs(a - b) / b for a, b in zip(GOLDEN[one], GOLDEN[other], strict=True))
        assert apart > 5 * NEAR, f"{one} and {other} differ by {apart:.1%} at most: the traces show neither"


if __name__ == "__main__":
    torch.set_num_threads(1)
    lines = (f'"{name}": {json.dumps([round(loss, 5) for loss in trace(name)])}' for name in METHODS)
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")

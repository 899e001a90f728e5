"""Twenty steps of every method give the losses they gave before; of those with terms, under Oliver et al.'s recipe too.

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
GOLDEN: dict[str, dict[str, list[float]]] = json.loads(FILE.read_text()) if FILE.exists() else {}
NAMES = {"strong": list(METHODS), "oliver": [name for name, entry in METHODS.items() if entry.terms]}
EACH = [(recipe, name) for recipe, names in NAMES.items() for name in names]
# Weights that differ by a millionth, more than two kinds of CPU do, move no loss of these by more than half a percent.
NEAR = 0.02


@pytest.mark.parametrize(("recipe", "name"), EACH)
def test_twenty_steps_are_as_they_were(recipe, name):
    assert trace(name, recipe) == pytest.approx(GOLDEN[recipe][name], rel=NEAR)


# Those that moved most.
@pytest.mark.parametrize(("recipe", "name"), [("strong", "entmin"), ("strong", "mean-teacher"), ("oliver", "vat")])
def test_a_rounding_error_makes_no_other_run(recipe, name):
    torch.manual_seed(0)
    network = SmallNet(classes=CLASSES, channels=1)
    with torch.no_grad():
        for p in network.parameters():
            p.mul_(1 + 1e-6 * torch.randn(p.shape))
    assert trace(name, recipe, network) == pytest.approx(GOLDEN[recipe][name], rel=NEAR)


@pytest.mark.parametrize("recipe", NAMES)
def test_every_method_has_a_trace_of_its_own(recipe):
    traces = GOLDEN[recipe]
    assert list(traces) == NAMES[recipe]
    assert all(len(losses) == 20 for losses in traces.values())
    for one, other in combinations(traces, 2):
        apart = max(abs(a - b) / b for a, b in zip(traces[one], traces[other], strict=True))
        assert apart > 5 * NEAR, f"{one} and {other} differ by {apart:.1%} at most: the traces show neither"


def _table(recipe: str) -> str:
    """A JSON object with a line a method."""
    lines = (f'"{name}": {json.dumps([round(loss, 5) for loss in trace(name, recipe)])}' for name in NAMES[recipe])
    return "{\n" + ",\n".join(lines) + "\n}"


if __name__ == "__main__":
    torch.set_num_threads(1)
    FILE.write_text("{\n" + ",\n".join(f'"{recipe}": {_table(recipe)}' for recipe in NAMES) + "\n}\n")

"""Every script in examples/ runs as it is, on a small budget, and says what it should."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from fewlabels.methods import METHODS

EXAMPLES = Path(__file__).parents[1] / "examples"
SAYS = {  # a small budget, and what is printed whatever it is
    "own_images": ("12", "100 labels, 1397 unlabelled images, 12 steps"),
    "own_network": ("6", "reloaded Tiny with 19562 weights"),
    "new_method": ("6", "rot-interpolation: test error"),
    "grid_search": ("2", "TransportLabeler: {'transportlabeler__clusters': 30"),
    "transport_only": ("500", "the plan's rows go to [0, 1, 2, 3, 4]"),
    "resume": ("12", "the same weights: True"),
}


@pytest.fixture
def the_catalogue():
    """What a script adds to the catalogue is gone after it."""
    before = dict(METHODS)
    yield METHODS
    METHODS.clear()
    METHODS.update(before)


@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs(name, the_catalogue, monkeypatch, tmp_path, capsys):
    budget, expected = SAYS[name]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(sys, "argv", [name, budget])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert expected in capsys.readouterr().out


def test_each_is_short_and_has_a_test():
    scripts = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.py")}
    assert set(scripts) == set(SAYS)
    for name, text in scripts.items():
        assert len(text.splitlines()) <= 70, name
        assert f"python examples/{name}.py" in text

"""Processes on this machine: several at once, one of them killed, all of them stopped."""

from __future__ import annotations

import multiprocessing
import time

import pytest
from killer import Killer, metrics

from fewlabels.experiments import reproduce as module
from fewlabels.experiments.reproduce import reproduce

pytestmark = [pytest.mark.processes, pytest.mark.slow]

ASKED = {"preset": "smoke", "seeds": [0, 1], "methods": ["rot"], "data": "svhn", "jobs": 2}


def test_a_run_whose_process_is_killed_goes_on_from_its_checkpoint(longer, tmp_path):
    killer = Killer(tmp_path / "out" / "runs")
    killer.start()
    outcome = reproduce("table2", **ASKED, out=tmp_path / "out")
    killer.join()
    assert outcome.failed == {}
    assert len(outcome.finished) == 2
    killer.check(outcome.finished)
    assert "n = 2" in outcome.written[0].read_text()


def gone(before: set[object]) -> bool:
    """Whether no process of ours is left. The pool's own thread may still be writing down the end of one."""
    for _ in range(50):
        if set(multiprocessing.active_children()) <= before:
            return True
        time.sleep(0.1)
    return False


def test_an_interrupt_stops_every_process_and_the_same_command_goes_on(longer, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TICK", 0.05)
    runs = tmp_path / "out" / "runs"

    class Interrupts:
        """Stands for the user, who has seen enough when both runs have a checkpoint."""

        def say(self, text):
            pass

        def show(self, state):
            if len([run for run in runs.glob("*/") if len(metrics(run)) >= 2]) == 2:
                raise KeyboardInterrupt

        def close(self):
            pass

    before = set(multiprocessing.active_children())
    with pytest.raises(KeyboardInterrupt):
        reproduce("table2", **ASKED, out=tmp_path / "out", watch=Interrupts())
    assert gone(before)
    left = {run.name: metrics(run) for run in runs.glob("*/")}
    time.sleep(0.3)
    assert left == {run.name: metrics(run) for run in runs.glob("*/")}  # nobody trains any more
    outcome = reproduce("table2", **ASKED, out=tmp_path / "out")
    assert outcome.estimate.cut_off == len(outcome.finished) == 2
    for name, lines in left.items():
        assert metrics(runs / name)[: len(lines) - 1] == lines[:-1]

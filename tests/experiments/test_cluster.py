"""A table on a Ray cluster of two nodes of this machine, each with room for one run; one of its workers is killed."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_preset import TINY, tiny

from fewlabels.errors import InputError
from fewlabels.experiments.catalogue import EXPERIMENTS
from fewlabels.experiments.cluster import Cluster
from fewlabels.experiments.experiment import cells
from fewlabels.experiments.identity import run_name
from fewlabels.experiments.presets import PRESETS
from fewlabels.experiments.reproduce import reproduce
from fewlabels.train.run import start

ray = pytest.importorskip("ray", reason="--executor ray needs Ray: pip install 'fewlabels[ray]'")
pytestmark = [
    pytest.mark.processes,
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # Ray's own are not ours to mend
]

EPOCHS, STEPS = 16, 4
CELL: dict[str, Any] = {"seeds": [0, 1], "methods": ["rot"], "data": "svhn"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes and this process, which is on neither."""
    from ray.cluster_utils import Cluster as Nodes

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        for _ in range(2):
            nodes.add_node(num_cpus=1)
        nodes.wait_for_nodes()
        try:
            yield nodes
        finally:
            ray.shutdown()
            nodes.shutdown()


@pytest.fixture
def longer(monkeypatch, tmp_path) -> None:
    """Runs that last long enough to be interrupted."""

    def apply(ask):
        config = tiny(ask)
        return dataclasses.replace(config, steps=EPOCHS * STEPS, overrides={**config.overrides, "epoch_steps": STEPS})

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "smoke", dataclasses.replace(TINY, apply=apply))


class Killer(threading.Thread):
    """Kills one of two workers once both are training and its run has a checkpoint."""

    def __init__(self, runs: Path) -> None:
        super().__init__(daemon=True)
        self.runs = runs
        self.workers: dict[str, int] = {}
        self.killed = ""
        self.kept: list[str] = []  # the lines of the killed run's metrics
        self.config_written = 0

    def run(self) -> None:
        ends = time.monotonic() + 100
        while not self.killed and time.monotonic() < ends:
            time.sleep(0.02)
            training = {name: pid for name, pid in self._held().items() if len(metrics(self.runs / name)) >= 3}
            if len(set(training.values())) == 2:
                self.workers = training
                self._kill(min(training, key=lambda name: len(metrics(self.runs / name))))

    def _kill(self, name: str) -> None:
        os.kill(self.workers[name], signal.SIGSTOP)  # so that what is read now is what it left
        self.kept = metrics(self.runs / name)
        self.config_written = (self.runs / name / "config.toml").stat().st_mtime_ns
        os.kill(self.workers[name], signal.SIGKILL)
        self.killed = name

    def _held(self) -> dict[str, int]:
        found = {path.stem: re.match(r"process (\d+) on ", path.read_text()) for path in self.runs.glob("*.lock")}
        return {
            name: int(match[1])
            for name, match in found.items()
            if match and not (self.runs / name / "record.json").exists()
        }


def metrics(run: Path) -> list[str]:
    """The whole lines of what a run has measured so far."""
    file = run / "metrics.jsonl"
    return file.read_text().split("\n")[:-1] if file.exists() else []


def test_a_run_whose_worker_is_killed_goes_on_from_its_checkpoint(cluster, longer, tmp_path):
    out = tmp_path / "out"
    ray.init(address=cluster.address, log_to_driver=False, logging_level="warning")
    rooms = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
    assert sorted(rooms) == [0, 1, 1]
    killer = Killer(out / "runs")
    killer.start()
    outcome = reproduce("table2", preset="smoke", **CELL, executor="ray", out=out, address=cluster.address)
    killer.join()

    assert outcome.failed == {}
    assert len(outcome.finished) == 2
    assert len(set(killer.workers.values())) == 2, "two workers trained at the same time"
    assert killer.killed in outcome.finished
    folder = out / "runs" / killer.killed
    assert (folder / "config.toml").stat().st_mtime_ns == killer.config_written  # gone on with, not begun again
    lines = metrics(folder)
    kept = killer.kept[:-1]  # the last epoch's checkpoint may not have been written yet
    assert len(kept) >= 2
    assert lines[: len(kept)] == kept  # with their times: these epochs were not trained anew
    assert [json.loads(line)["epoch"] for line in lines if line not in kept][-1] == EPOCHS
    holder = int(re.match(r"process (\d+) on ", (out / "runs" / f"{killer.killed}.lock").read_text())[1])
    assert holder != killer.workers[killer.killed]

    gathered = {record["seed"]: record for record in map(json.loads, (out / "records.jsonl").read_text().splitlines())}
    assert set(gathered) == {0, 1}
    config = next(
        cell for cell in cells(EXPERIMENTS["table2"], PRESETS["smoke"], **CELL) if run_name(cell) == folder.name
    )
    straight, record = start(config, tmp_path / "straight"), gathered[config.seed]
    assert record["steps"] == straight["steps"] == EPOCHS * STEPS
    assert record["curve"]["loss"] == pytest.approx(straight["curve"]["loss"], rel=1e-3)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"cpus": 64.0, "gpus": None},
            "a run needs 64 CPU and the cluster has 2: add nodes, or ask for less with --cpus",
        ),
        ({"cpus": 1.0, "gpus": 0.25}, "a run needs 0.25 GPU and the cluster has 0: add nodes"),
    ],
)
def test_what_the_cluster_cannot_hold_is_refused_at_once(cluster, asked, said):
    with pytest.raises(InputError, match=re.escape(said)), Cluster(jobs=None, address=cluster.address, **asked):
        pass

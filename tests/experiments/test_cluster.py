"""A table on a Ray cluster of two nodes of this machine, each with room for one run; one of its workers is killed."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from killer import EPOCHS, STEPS, Killer

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
    killer.check(outcome.finished)
    folder = out / "runs" / killer.killed
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

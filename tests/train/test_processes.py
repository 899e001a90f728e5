"""Several processes: two on this machine's CPU, started by us or by torchrun."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from test_run import CONFIG, SETTINGS, timeless
from tiny_source import stripes
from torch import nn

from fewlabels.errors import InputError, RunError
from fewlabels.models import SmallNet
from fewlabels.train.checkpoint import load
from fewlabels.train.config import Config
from fewlabels.train.run import Epoch, resume, start

pytestmark = [pytest.mark.processes, pytest.mark.slow]


def small() -> nn.Module:
    """No batch normalisation, so nothing depends on who shares a batch."""
    torch.manual_seed(1)
    return SmallNet(classes=2, channels=1, norm=False)


@pytest.mark.parametrize("method", ["supervised", "rot"])
def test_two_processes_do_what_one_does(tmp_path, method, capfd):
    config = replace(CONFIG, method=method)
    one = start(config, tmp_path / "one", source=stripes(), network=small())
    two = start(replace(config, devices=2), tmp_path / "two", source=stripes(), network=small())
    assert (one["world_size"], two["world_size"]) == (1, 2)
    assert (one["steps"], one["images"]) == (two["steps"], two["images"])
    lines, others = (timeless(tmp_path / name / "metrics.jsonl") for name in ("one", "two"))
    assert [line["loss"] for line in lines] == pytest.approx([line["loss"] for line in others], rel=1e-3)
    assert capfd.readouterr().err == ""  # nobody asked what the processes have to say to each other
    assert [line.get("labels_per_class") for line in lines] == [line.get("labels_per_class") for line in others]
    assert one["test_error"] == pytest.approx(two["test_error"], abs=0.07)  # two of 32 images


class DiesOnce(nn.Module):
    """The process of rank 1 is killed in its tenth pass, unless the file is there already."""

    def __init__(self, flag: Path) -> None:
        super().__init__()
        self.inner, self.flag, self.passes = small(), flag, 0

    def forward(self, images):
        self.passes += self.training
        if self.passes == 10 and torch.distributed.get_rank() == 1 and not self.flag.exists():
            self.flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.inner(images)


def test_a_rank_that_dies_ends_the_run_and_it_can_be_resumed(tmp_path):
    config = replace(CONFIG, devices=2)
    with pytest.raises(RunError, match="fewlabels resume"):
        start(config, tmp_path / "run", source=stripes(), network=DiesOnce(tmp_path / "dead"))
    assert len(timeless(tmp_path / "run/metrics.jsonl")) == 2
    found = resume(tmp_path / "run", source=stripes(), network=DiesOnce(tmp_path / "dead"))
    alone = start(config, tmp_path / "alone", source=stripes(), network=DiesOnce(tmp_path / "dead"))
    assert found["world_size"] == 2
    assert timeless(tmp_path / "run/metrics.jsonl") == timeless(tmp_path / "alone/metrics.jsonl")
    assert found["test_error"] == alone["test_error"]


def interrupt_after(epochs: int):
    """In the process that tells; the parent is interrupted with it, as by Ctrl-C."""
    return partial(_interrupt, epochs=epochs, parent=os.getpid())


def _interrupt(event, epochs: int, parent: int) -> None:
    if isinstance(event, Epoch) and event.metrics["epoch"] == epochs:
        os.kill(parent, signal.SIGINT)
        time.sleep(30)


def test_an_interrupt_ends_all_processes_and_a_resumed_run_ends_as_one_left_alone(tmp_path):
    """With batch normalisation, whose statistics each CPU process would keep for itself."""
    config = replace(CONFIG, method="rot", devices=2)
    with pytest.raises(KeyboardInterrupt, match="fewlabels resume"):
        start(config, tmp_path / "run", source=stripes(), listener=interrupt_after(3))
    for child in multiprocessing.active_children():
        child.join(timeout=10)
    assert not multiprocessing.active_children()
    found = resume(tmp_path / "run", source=stripes())
    alone = start(config, tmp_path / "alone", source=stripes())
    assert timeless(tmp_path / "run/metrics.jsonl") == timeless(tmp_path / "alone/metrics.jsonl")
    a, b = (load(tmp_path / name / "weights.safetensors", kind="weights")["weights"] for name in ("run", "alone"))
    assert all(torch.equal(a[key], b[key]) for key in a)
    assert found["test_error"] == alone["test_error"]


TORCHRUN_COMMAND = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
TORCHRUN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import torch
torch.set_num_threads(1)
from test_run import CONFIG, stripes
from fewlabels.train.run import start
start(CONFIG, Path(sys.argv[1]), source=stripes())
"""


def test_torchrun_may_start_the_processes(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TORCHRUN)
    subprocess.run(
        [*TORCHRUN_COMMAND, str(script), str(tmp_path / "run"), str(Path(__file__).parent)],
        check=True,
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    record = json.loads((tmp_path / "run/record.json").read_text())
    assert record["world_size"] == 2
    assert record["steps"] == CONFIG.steps


def test_a_wrong_request_is_told_by_the_process_that_met_it(tmp_path):
    with pytest.raises(InputError, match="200 labels were asked for"):
        start(Config("arrays", labels=200, devices=2, overrides=SETTINGS), tmp_path / "run", source=stripes())
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="--nodes 2 needs one process started on each node"):
        start(replace(CONFIG, nodes=2), tmp_path / "run", source=stripes())

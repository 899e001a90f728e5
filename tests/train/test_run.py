from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny_source import stripes

from fewlabels.data.images import Images, Source
from fewlabels.errors import InputError
from fewlabels.models import SmallNet
from fewlabels.report.runs import read_run
from fewlabels.train.checkpoint import load
from fewlabels.train.config import Config
from fewlabels.train.run import Epoch, Finished, Started, Stopped, resume, start
from fewlabels.train.weights import load_classifier

SETTINGS = {"epoch_steps": 4, "labeled_batch": 8, "unlabeled_batch": 16, "warmup": 0.2}
CONFIG = Config("arrays", method="supervised", labels=16, steps=20, precision="float32", overrides=SETTINGS)


def test_a_run_leaves_a_folder_that_says_everything(tmp_path):
    told = []
    found = start(replace(CONFIG, method="rot"), tmp_path / "run", source=stripes(), listener=told.append)
    files = {p.name for p in (tmp_path / "run").iterdir()}
    assert files == {
        *("config.toml", "metrics.jsonl", "record.json", "weights.safetensors"),
        *("plan.json", "pseudo_labels.npz", "gallery.png", "gallery.json"),
    }
    assert [type(event) for event in told] == [Started, *[Epoch] * 5, Finished]
    assert found == json.loads((tmp_path / "run/record.json").read_text())
    assert {"data", "method", "labels", "seed", "preset", "budget", "test_error", "validation_error"} <= set(found)
    assert found["steps"] == 20
    assert found["images"] == 1 * 4 * 8 + 4 * 4 * (8 + 16)
    low, high = found["test_interval"]
    assert low <= found["test_error"] <= high
    assert found["config"]["labeler"]["name"] == "ROT"
    run = read_run(tmp_path / "run")
    assert run.finished
    assert run.record.test_error == found["test_error"]
    assert run.plan is not None
    assert run.gallery is not None
    assert run.pseudo_labels is not None


def test_the_reported_error_is_the_one_at_the_lowest_validation_error(tmp_path):
    source = stripes()
    found = start(CONFIG, tmp_path / "run", source=source)
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    errors = [line["validation_error"] for line in lines]
    assert found["validation_error"] == min(errors)
    assert found["best_epoch"] == 1 + errors.index(min(errors))
    classifier = load_classifier(tmp_path / "run/weights.safetensors")
    guess = classifier.probabilities(source.test.pixels).argmax(1)
    assert found["test_error"] == (guess != source.test.labels).float().mean().item()


def test_nothing_selects_on_the_test_part(tmp_path):
    source = stripes()
    labels = source.test.labels
    wrong = replace(source, test=Images(source.test.pixels, 1 - labels))
    a, b = (start(CONFIG, tmp_path / name, source=s) for name, s in (("a", source), ("b", wrong)))
    assert a["best_epoch"] == b["best_epoch"]
    assert a["test_error"] == pytest.approx(1 - b["test_error"])
    same = (load(tmp_path / name / "weights.safetensors", kind="weights")["weights"] for name in "ab")
    assert all(torch.equal(x, y) for x, y in zip(*(tree.values() for tree in same), strict=True))


def test_too_few_labels_for_a_validation_part_report_the_terminal_error_alone(tmp_path):
    source = replace(stripes(), validation=None)
    found = start(replace(CONFIG, labels=4), tmp_path / "run", source=source)
    assert found["test_error"] is None
    assert found["validation_error"] is None
    assert 0 <= found["terminal"]["test_error"] <= 1


def test_a_folder_that_exists_is_never_touched(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/precious").write_text("mine")
    with pytest.raises(InputError, match="exists and is never overwritten: choose another --out"):
        start(CONFIG, tmp_path / "run", source=stripes())
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["precious"]


def test_a_wrong_request_writes_nothing(tmp_path):
    with pytest.raises(InputError, match="200 labels were asked for"):
        start(replace(CONFIG, labels=200), tmp_path / "run", source=stripes())
    with pytest.raises(InputError, match=r"the network gives \(1, 2\) for one sample, and 4 logits are needed"):
        start(CONFIG, tmp_path / "run", source=stripes(classes=4), network=SmallNet(classes=2, channels=1))
    assert list(tmp_path.iterdir()) == []


def test_resuming_a_finished_run_changes_nothing(tmp_path):
    found = start(CONFIG, tmp_path / "run", source=stripes())
    before = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "run").iterdir()}
    assert resume(tmp_path / "run") == found
    assert {p.name: p.stat().st_mtime_ns for p in (tmp_path / "run").iterdir()} == before


class StopError(Exception):
    pass


def stop_after(epochs: int):
    def listener(event):
        if isinstance(event, Epoch) and event.metrics["epoch"] == epochs:
            raise StopError

    return listener


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: p.write_bytes(p.read_bytes()[:-9]), "damaged or cut short"),
        (lambda p: p.write_text("not a checkpoint"), "is damaged"),
        (lambda p: p.unlink(), "cannot be resumed; start a new run"),
    ],
)
def test_a_damaged_checkpoint_is_refused_and_never_restarted(tmp_path, damage, message):
    folder = tmp_path / "run"
    with pytest.raises(StopError):
        start(CONFIG, folder, source=stripes(), listener=stop_after(2))
    damage(folder / "checkpoint.fewlabels")
    metrics = (folder / "metrics.jsonl").read_text()
    with pytest.raises(InputError, match=message):
        resume(folder, source=stripes())
    assert (folder / "metrics.jsonl").read_text() == metrics


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(StopError):
        start(replace(CONFIG, method="rot"), folder, source=stripes(), listener=stop_after(2))
    with pytest.raises(InputError, match="the checkpoint was made with other data"):
        resume(folder, source=stripes(train=64))


def test_a_checkpoint_of_another_request_is_refused(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(StopError):
        start(replace(CONFIG, method="rot"), folder, source=stripes(), listener=stop_after(3))
    metrics = (folder / "metrics.jsonl").read_text()
    config = (folder / "config.toml").read_text()
    for changed in (config + "ema = 0.0\n", config.replace('"auto"', '"wrn-10-1"', 1)):
        (folder / "config.toml").write_text(changed)
        with pytest.raises(InputError, match="the checkpoint does not fit this run"):
            resume(folder, source=stripes())
    assert (folder / "metrics.jsonl").read_text() == metrics


@pytest.mark.parametrize("text", ["", "{}\n", "{}\nhalf a li", "[]\n[]\n"])
def test_epochs_that_are_lost_are_told(tmp_path, text):
    folder = tmp_path / "run"
    with pytest.raises(StopError):
        start(CONFIG, folder, source=stripes(), listener=stop_after(2))
    (folder / "metrics.jsonl").write_text(text)
    with pytest.raises(InputError, match=r"metrics\.jsonl is damaged: the checkpoint stands after epoch 2"):
        resume(folder, source=stripes())


def test_a_line_cut_off_behind_the_checkpoint_is_dropped(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(StopError):
        start(CONFIG, folder, source=stripes(), listener=stop_after(2))
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 3, "lo')
    assert resume(folder, source=stripes())["curve"]["epoch"] == [1, 2, 3, 4, 5]


def test_a_damaged_record_is_told(tmp_path):
    start(CONFIG, tmp_path / "run", source=stripes())
    for text in ("{", "[]", "{}"):
        (tmp_path / "run/record.json").write_text(text)
        with pytest.raises(InputError, match=r"record\.json is (damaged|not the record of a run)"):
            resume(tmp_path / "run")


def test_a_run_that_stops_says_so_once(tmp_path):
    told = []

    def listener(event):
        told.append(type(event))
        if isinstance(event, Epoch):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=f"`fewlabels resume {tmp_path}/run` goes on from the last epoch"):
        start(CONFIG, tmp_path / "run", source=stripes(), listener=listener)
    assert told == [Started, Epoch, Stopped]
    assert resume(tmp_path / "run", source=stripes())["epochs"] == 5


@pytest.mark.parametrize("out", ["file/run", "link", "x" * 300, "nul\0"])
def test_a_folder_that_cannot_be_made_is_told(tmp_path, out):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere/run")
    with pytest.raises(InputError, match="choose another --out"):
        start(CONFIG, tmp_path / out, source=stripes())
    assert {p.name for p in tmp_path.iterdir()} == {"file", "link"}


def test_a_batch_that_cannot_be_shared_is_refused_before_a_process_is_started(tmp_path, monkeypatch):
    monkeypatch.setattr("fewlabels.train.run.make_fabric", lambda **_: pytest.fail("processes would be started"))
    with pytest.raises(InputError, match="batches of 8 images cannot be shared by 9 processes: ask for fewer"):
        start(replace(CONFIG, devices=9), tmp_path / "run", source=stripes())
    assert list(tmp_path.iterdir()) == []


def test_images_a_network_cannot_take_are_refused(tmp_path):
    pixels = torch.zeros(8, 1, 1, 1, dtype=torch.uint8)
    source = Source("dots", ("a", "b"), Images(pixels, torch.arange(8) % 2))
    with pytest.raises(InputError, match=r"the network cannot take samples of shape \(1, 1, 1\)"):
        start(replace(CONFIG, labels=4), tmp_path / "run", source=source)
    assert list(tmp_path.iterdir()) == []


def test_a_validation_part_may_be_asked_away_and_not_asked_twice(tmp_path):
    source = replace(stripes(), validation=None, validation_size=10)
    found = start(replace(CONFIG, validation=0), tmp_path / "run", source=source)
    assert found["validation_error"] is None
    assert found["terminal"]["test_error"] is not None
    with pytest.raises(InputError, match="stripes brings its own validation part: leave --validation out"):
        start(replace(CONFIG, validation=4), tmp_path / "other", source=stripes())


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
import torch
torch.set_num_threads(1)
from test_run import CONFIG, stripes
from dataclasses import replace
from fewlabels.train.run import resume, start
config = replace(CONFIG, method=sys.argv[2], steps=160)
folder = Path(sys.argv[1])
(lambda: resume(folder, source=stripes()) if folder.exists() else start(config, folder, source=stripes()))()
"""


def timeless(path: Path):
    drop = ("seconds", "epoch_seconds", "stage_seconds", "images_per_second")
    return [
        {key: value for key, value in json.loads(line).items() if key not in drop}
        for line in path.read_text().splitlines()
    ]


@pytest.mark.slow
def test_a_run_killed_at_any_moment_ends_as_one_left_alone(tmp_path):
    def command(name):
        return [sys.executable, "-c", KILLED, str(tmp_path / name), "rot", str(Path(__file__).parent)]

    subprocess.run(command("alone"), check=True)
    killed = 0
    for delay in (random.uniform(0, 0.3), random.uniform(0, 0.3)):  # after the run has begun to write
        process = subprocess.Popen(command("killed"))
        seen = tmp_path / "killed/metrics.jsonl"
        already = len(seen.read_text().splitlines()) if seen.exists() else 0
        while process.poll() is None and (not seen.exists() or len(seen.read_text().splitlines()) <= already):
            time.sleep(0.005)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    assert killed >= 1
    subprocess.run(command("killed"), check=True)
    assert timeless(tmp_path / "killed/metrics.jsonl") == timeless(tmp_path / "alone/metrics.jsonl")
    a, b = (load(tmp_path / name / "weights.safetensors", kind="weights")["weights"] for name in ("alone", "killed"))
    assert all(torch.equal(a[key], b[key]) for key in a)
    assert not (tmp_path / "killed/checkpoint.fewlabels").exists()

"""Lines 3 to 11 of Algorithm 2 inside a run: what each option changes, what is measured, who sees what."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest
import torch
from test_loop import run, training, weights
from test_run import CONFIG
from tiny_source import stripes
from torch import Generator, nn

import fewlabels
from fewlabels import ot
from fewlabels.cli import call
from fewlabels.data.normalize import fit
from fewlabels.errors import Diverged, InputError, RunError
from fewlabels.labels import ROT, Argmax
from fewlabels.methods import METHODS
from fewlabels.models import SmallNet
from fewlabels.train.checkpoint import load
from fewlabels.train.config import Config, check_value
from fewlabels.train.device import make_fabric
from fewlabels.train.labelling import label_pool
from fewlabels.train.loop import train_epoch
from fewlabels.train.problem import pose
from fewlabels.train.run import resume, start


def labelled(method="rot", **overrides):
    """A run after its first epoch with labels, and the metrics of that epoch."""
    t = training(method, warmup=0.0, **overrides)
    return t, train_epoch(t)


def test_lambda_spreads_the_plan():
    plans = [labelled(pool="all", reg=reg)[0].labelled.pseudo.matching.plan for reg in (0.02, 2.0)]
    sharp, flat = (-torch.xlogy(plan.matrix, plan.matrix).sum() for plan in plans)
    assert sharp < flat


def test_clusters_and_their_weights():
    assert len(labelled(pool="all", clusters=6)[1]["cluster_sizes"]) == 6
    free, even = (labelled(pool="all", weights=weights)[1]["cluster_sizes"] for weights in ("free", "uniform"))
    assert max(even) - min(even) <= 1
    assert sum(free) == sum(even) == 88


@pytest.mark.parametrize(("pool", "size"), [(20, 20), ("labeled", 8), ("all", 88), (10_000, 88)])
def test_the_pool_is_as_large_as_asked(pool, size):
    t, metrics = labelled(pool=pool)
    assert metrics["pool"] == len(t.labelled.positions.unique()) == size


def test_a_class_prior_is_the_plan_s():
    t, _ = labelled(pool="all", class_prior=(0.7, 0.3))
    assert t.labelled.pseudo.matching.plan.matrix.sum(0).tolist() == pytest.approx([0.7, 0.3])


@pytest.mark.parametrize("match_with", ["student", "ema"])
def test_the_labeler_sees_the_network_that_was_asked_for(match_with):
    t = training("rot", warmup=0.25, ema=0.9, match_with=match_with)
    train_epoch(t)  # the average and the network differ now
    given, labeler = [], t.method.labeler

    def listening(outputs, generator):
        given.append(outputs.labeled)
        return labeler(outputs, generator)

    t.method = replace(t.method, labeler=listening)
    clean = t.problem.clean(t.problem.store.take(t.problem.split.labeled))
    with torch.no_grad():
        student, average = (net.eval()(clean).softmax(1) for net in (t.network, t.ema.module))
    train_epoch(t)
    right, other = (student, average) if match_with == "student" else (average, student)
    assert torch.allclose(given[0], right, atol=1e-6)
    assert not torch.allclose(given[0], other, atol=1e-3)


def test_alpha_grows_over_its_ramp():
    none, ramped, whole = (labelled(**o)[1]["loss"] for o in ({"alpha": 0.0}, {"alpha_ramp": 1.0}, {}))
    assert none < ramped < whole


def test_relabelling_every_few_epochs_keeps_labels_in_between():
    t = training("rot", warmup=0.0, relabel_epochs=2, steps=12)
    made = []
    while not t.done:
        train_epoch(t)
        made.append(t.pool.epoch)
    assert made == [0, 0, 2]


def test_every_option_is_reached_from_the_command_line_and_from_python(tmp_path):
    asked = {
        "reg": 0.5,
        "clusters": 12,
        "weights": "uniform",
        "solver": "exact",
        "pool": 64,
        "match_with": "student",
        "match_on": "features",
        "relabel_epochs": 2,
        "reset_optimizer": True,
        "alpha": 0.5,
        "alpha_ramp": 0.25,
        "ema": 0.9,
        "warmup": 0.5,
        "epoch_steps": 2,
    }
    options = []
    for name, value in asked.items():
        option = f"--{name.replace('_', '-')}"
        options += [option] if value is True else [option, str(value)]
    assert call(["train", "digits", "--labels", "40", "--steps", "4", "--out", str(tmp_path / "a"), *options]) == 0
    found = json.loads((tmp_path / "a/record.json").read_text())["config"]
    for name, value in asked.items():
        assert {**found["labeler"], **found["recipe"]}[name] == value
    python = fewlabels.fit("digits", labels=40, steps=4, out=tmp_path / "b", **asked)
    assert python.record["config"]["recipe"] == found["recipe"]
    assert python.record["config"]["labeler"] == found["labeler"]
    for pool in ("all", "labeled"):
        made = fewlabels.fit("digits", labels=40, steps=1, warmup=0.0, epoch_steps=1, pool=pool, out=tmp_path / pool)
        assert made.record["config"]["recipe"]["pool"] == pool


def test_an_epoch_measures_its_labels():
    t, metrics = labelled("rot", pool="all", clusters=5)
    found, matching = t.labelled, t.labelled.pseudo.matching
    truth = t.problem.truth.open_for_metrics()[t.problem.split.unlabeled[found.positions]]
    assert metrics["pseudo_label_accuracy"] == pytest.approx((found.pseudo.labels == truth).double().mean().item())
    assert metrics["transport_cost"] == matching.cost
    assert metrics["labels_per_class"] == found.pseudo.labels.bincount(minlength=2).tolist()
    assert metrics["collisions"] == len(matching.collisions) >= 1
    assert sum(metrics["cluster_sizes"]) == metrics["kept"] == metrics["pool"] == 88
    assert set(metrics["stage_seconds"]) == {"outputs", "match", "train"}
    assert sum(metrics["stage_seconds"].values()) == pytest.approx(metrics["epoch_seconds"], rel=0.2, abs=0.02)


def test_the_classifier_s_own_accuracy_is_of_the_same_images():
    t = training("rot", warmup=0.0, pool=30)
    probe = training("rot", warmup=0.0, pool=30)
    metrics = train_epoch(t)
    rows = t.problem.split.unlabeled[t.labelled.positions]
    with torch.no_grad():  # as the average was before the first step
        own = probe.matched.eval()(probe.problem.clean(probe.problem.store.take(rows))).argmax(1)
    truth = t.problem.truth.open_for_metrics()[rows]
    assert metrics["classifier_accuracy"] == pytest.approx((own == truth).double().mean().item())
    labels = labelled("self-label", pool=30)[1]
    assert labels["pseudo_label_accuracy"] == labels["classifier_accuracy"] == metrics["classifier_accuracy"]


def test_sealed_labels_are_opened_for_metrics_alone():
    opened = set()
    for path in Path(fewlabels.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name != "open_for_metrics":
                calls = [n for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr == "open_for_metrics"]
                opened |= {(path.stem, node.name) for _ in calls}
    assert opened == {("labelling", "_accuracies"), ("artifacts", "save_labelling")}


def test_fewer_images_than_clusters_are_clustered_and_said():
    _, metrics = labelled(clusters=6, pool=4)
    assert len(metrics["cluster_sizes"]) <= 4
    assert metrics["note"].startswith("6 clusters were asked of 4 unlabelled rows")
    assert "note" not in labelled("ss-gnn")[1]


def test_the_note_is_said_once_a_run(tmp_path, capsys):
    settings = ("--labels", "20", "--steps", "4", "--epoch-steps", "1", "--warmup", "0", "--pool", "5")
    assert call(["train", "digits", *settings, "--out", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out.count("10 clusters were asked of 5 unlabelled rows") == 1


def test_what_the_labeler_would_refuse_is_refused_before_the_first_step(tmp_path):
    with pytest.raises(InputError, match=r"class_prior sums to 0\.7"):
        training("rot", class_prior=(0.4, 0.3))
    with pytest.raises(InputError, match="1 clusters for 2 classes"):
        training("rot", clusters=1)
    with pytest.raises(InputError, match="weights='prior' gives the mass of each of 2 classes to one cluster"):
        training("rot", clusters=6, weights="prior")
    with pytest.raises(InputError, match="--unlabeled is 0: leave it out, or use --method supervised"):
        start(replace(CONFIG, method="rot", unlabeled=0), tmp_path / "run", source=stripes())
    assert not (tmp_path / "run").exists()


def test_what_is_wrong_after_the_first_step_is_a_failure_of_the_run(tmp_path, monkeypatch):
    def refuse(self, outputs, generator):
        raise InputError("no")

    monkeypatch.setattr(ROT, "__call__", refuse)
    with pytest.raises(RunError, match=r"^no$"):
        start(replace(CONFIG, method="rot"), tmp_path / "run", source=stripes())


def test_images_that_got_no_label_are_not_shown_as_labelled(tmp_path, capsys):
    settings = ("--method", "self-label", "--labels", "20", "--steps", "2", "--epoch-steps", "1", "--warmup", "0")
    for threshold in (1.0, 0.11):
        out = tmp_path / str(threshold)
        assert call(["train", "digits", *settings, "--threshold", str(threshold), "--out", str(out)]) == 0
        kept = np.load(out / "pseudo_labels.npz")["kept"]
        told = "no pseudo-label was kept: none was as sure as --threshold asks" in capsys.readouterr().out
        shown = json.loads((out / "gallery.json").read_text())["items"] if (out / "gallery.json").exists() else []
        assert (told, len(shown)) == (not kept.any(), min(300, kept.sum()))
        assert all(item["confidence"] >= round(threshold, 4) for item in shown)


def test_a_setting_that_the_run_s_file_cannot_hold_is_refused():
    with pytest.raises(InputError, match=r"solver is Sinkhorn\(.*cannot hold: give a word"):
        check_value("solver", ot.Sinkhorn(reg=0.05), get_type_hints(ROT)["solver"])


def test_one_labelled_image_a_class():
    lines = run(training("rot", labels=2, warmup=0.25, pool="all"))
    assert lines[-1]["pseudo_label_accuracy"] is not None


def test_outputs_that_are_all_alike_are_labelled():
    t = training("rot", warmup=0.0, pool="all")
    for net in (t.network, t.ema.module):
        nn.init.zeros_(net.dense.weight), nn.init.zeros_(net.dense.bias)
    metrics = train_epoch(t)
    assert metrics["cluster_sizes"] == [88]
    assert metrics["empty_classes"] == 1
    assert torch.isfinite(weights(t)).all()


class Explodes(nn.Module):
    """In one training pass, the last of an epoch, its logits are so large that the update ruins every weight."""

    def __init__(self, at: int) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.inner, self.at, self.passes = SmallNet(classes=2, channels=1, norm=False), at, 0

    def forward(self, images):
        self.passes += self.training
        out = self.inner(images)
        return out * 1e30 if self.training and self.passes == self.at else out


@pytest.mark.parametrize("method", ["supervised", "rot"])
def test_a_diverged_network_leaves_the_last_good_checkpoint(tmp_path, method):
    folder, config = tmp_path / "run", replace(CONFIG, method=method)
    with pytest.raises(Diverged, match=r"after epoch 2 are not finite.*learning_rate lower .* in .*config.toml and"):
        start(config, folder, source=stripes(), network=Explodes(at=8))
    saved = load(folder / "checkpoint.fewlabels", kind="checkpoint")
    assert saved["epoch"] == len((folder / "metrics.jsonl").read_text().splitlines()) == 1
    assert all(torch.isfinite(value).all() for value in saved["network"].values())
    assert resume(folder, source=stripes(), network=Explodes(at=0))["steps"] == 20


class Counts(nn.Module):
    """How many images a network has seen."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.inner, self.seen = SmallNet(classes=2, channels=1), 0

    def forward(self, images):
        self.seen += len(images)
        return self.inner(images)


LABELERS = (ROT(), ROT(soft=True, clusters=4), Argmax(threshold=0.52))


def label_on_every_rank(fabric, folder):
    """One labelling with each labeler; what this rank holds afterwards goes into a file of its own."""
    torch.set_num_threads(1)
    config = Config("stripes", labels=9 * 2)
    problem = pose(stripes(), fit("symmetric", stripes().train.pixels), config, METHODS["rot"], fabric.device)
    held = []
    for labeler in LABELERS:
        network, calls = Counts(), []

        def once(outputs, generator, labeler=labeler, calls=calls):
            calls.append(len(outputs.unlabeled))
            return labeler(outputs, generator)

        names = {"draw": 0, "order": 1, "generator": 2}
        found = label_pool(
            network,
            problem,
            once,
            replace(METHODS["rot"].recipe, pool=41),
            fabric,
            epoch=0,
            **{name: Generator().manual_seed(seed) for name, seed in names.items()},
        )
        metrics = {k: v for k, v in found.metrics.items() if k != "stage_seconds"}
        pool = (found.pool.positions, found.pool.labels, found.pool.soft, next(found.pool.stream))
        held.append({"seen": network.seen, "calls": calls, "pool": pool, "metrics": metrics})
    torch.save({"world": fabric.world_size, "held": held}, Path(folder) / f"{fabric.world_size}-{fabric.global_rank}")
    return fabric.world_size


@pytest.mark.processes
@pytest.mark.slow
def test_two_processes_share_the_outputs_match_once_and_hold_the_labels_of_one(tmp_path):
    for devices in (1, 2):
        fabric = make_fabric(device="cpu", precision="float32", devices=devices, nodes=1)
        assert fabric.launch(label_on_every_rank, str(tmp_path)) == devices
    one, first, second = (torch.load(tmp_path / name, weights_only=False) for name in ("1-0", "2-0", "2-1"))
    assert first["world"] == second["world"] == 2
    for alone, a, b in zip(one["held"], first["held"], second["held"], strict=True):
        assert (alone["calls"], a["calls"], b["calls"]) == ([41], [41], [])  # one match, of all rows, on one rank
        assert a["seen"] + b["seen"] == alone["seen"]
        assert abs(a["seen"] - b["seen"]) <= 2
        assert len(alone["pool"][0]) > 0
        for whole, mine, theirs in zip(alone["pool"], a["pool"], b["pool"], strict=True):
            assert (whole is None) == (mine is None) == (theirs is None)
            if whole is not None:
                assert torch.equal(mine, theirs)
                assert torch.allclose(whole.double(), mine.double(), atol=1e-5)
        assert a["metrics"]["labels_per_class"] == b["metrics"]["labels_per_class"]
        assert a["metrics"]["labels_per_class"] == alone["metrics"]["labels_per_class"]
        assert a["metrics"]["pseudo_label_accuracy"] == alone["metrics"]["pseudo_label_accuracy"]

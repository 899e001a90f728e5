from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from tiny_source import stripes

from fewlabels.data.images import Images
from fewlabels.data.normalize import fit
from fewlabels.errors import Diverged, InputError
from fewlabels.methods import METHODS
from fewlabels.models import SmallNet
from fewlabels.train.config import Config, plan_of
from fewlabels.train.device import make_fabric
from fewlabels.train.loop import Training, begin, restore, state, train_epoch, validate
from fewlabels.train.problem import pose
from fewlabels.train.schedule import Budget, Clock

CPU = torch.device("cpu")


def training(method="supervised", *, source=None, steps=16, labels=8, seed=0, **overrides) -> Training:
    overrides = {"epoch_steps": 4, "labeled_batch": 8, "unlabeled_batch": 16, "warmup": 0.2, **overrides}
    config = Config("stripes", method=method, labels=labels, overrides=overrides, seed=seed)
    plan, source = plan_of(config), source or stripes()
    problem = pose(source, fit("symmetric", source.train.pixels), config, plan, CPU)
    torch.manual_seed(seed)
    network = SmallNet(classes=2, channels=1)
    fabric = make_fabric(device="cpu", precision="float32", devices=1, nodes=1)
    return begin(problem, plan, network, Clock(Budget(steps=steps)), fabric, seed=seed)


def weights(t: Training):
    return torch.cat([p.detach().flatten() for p in t.network.parameters()])


def run(t: Training):
    lines = []
    while not t.done:
        lines.append(train_epoch(t) | {"validation": validate(t)["validation_error"]})
    return lines


def test_an_epoch_is_its_steps_and_the_budget_is_kept_to_the_step():
    lines = run(training(steps=10))
    assert [line["step"] for line in lines] == [4, 8, 10]
    assert [line["images"] for line in lines] == [32, 32, 16]


def test_a_budget_of_a_moment_still_buys_a_step():
    t = training()
    t.clock = Clock(Budget(minutes=1e-9))
    assert t.done
    assert train_epoch(t)["step"] == 1


def test_a_budget_in_minutes_ends_within_it():
    t = training(epoch_steps=3)
    t.clock = Clock(Budget(minutes=0.02))
    lines = run(t)
    assert t.clock.seconds >= 1.2
    assert sum(line["epoch_seconds"] for line in lines) < 3
    assert lines[-1]["learning_rate"] < 0.02 < lines[0]["learning_rate"]  # the schedule ends with the time


def test_what_a_labeler_would_refuse_is_refused_before_the_warm_up():
    with pytest.raises(InputError, match="1 clusters for 2 classes"):
        training("rot", clusters=1)
    with pytest.raises(InputError, match="class_prior has 3 entries and there are 2 classes"):
        training("rot", class_prior=(0.2, 0.3, 0.5))


def test_images_count_both_batches_once_pseudo_labels_are_there():
    lines = run(training("rot", steps=8, warmup=0.5, pool="labeled"))
    assert [line["images"] for line in lines] == [4 * 8, 4 * (8 + 16)]
    assert "transport_cost" not in lines[0]
    assert lines[1]["transport_cost"] >= 0
    assert sum(lines[1]["labels_per_class"]) == lines[1]["pool"] == 8  # as many as labelled images


def test_the_same_seed_gives_the_same_weights_and_another_does_not():
    first, again, other = (training("rot", seed=seed) for seed in (0, 0, 1))
    for t in (first, again, other):
        run(t)
    assert torch.equal(weights(first), weights(again))
    assert not torch.equal(weights(first), weights(other))


@pytest.mark.parametrize("method", METHODS)
def test_hidden_labels_teach_nothing(method):
    source = stripes()
    honest = training(method, source=source)
    hidden = honest.problem.split.unlabeled
    labels = source.train.labels.clone()
    labels[hidden] = labels[hidden][torch.randperm(len(hidden), generator=torch.Generator().manual_seed(7))]
    assert not torch.equal(labels, source.train.labels)
    scrambled = training(method, source=source)
    # The split itself is drawn by class, so the truth is scrambled behind it.
    scrambled.problem = replace(scrambled.problem, truth=type(scrambled.problem.truth)(labels))
    lines, others = run(honest), run(scrambled)
    assert torch.equal(weights(honest), weights(scrambled))
    assert [line["loss"] for line in lines] == [line["loss"] for line in others]


@pytest.mark.parametrize("method", ["supervised", "rot", "vat"])
def test_labels_scrambled_in_the_source_teach_nothing(method, monkeypatch):
    """The same with the labels wrong from the beginning, and only the split itself as it was."""
    source = stripes()
    honest = training(method, source=source)
    monkeypatch.setattr("fewlabels.train.problem.draw_split", lambda *_, **__: honest.problem.split)
    labels = source.train.labels.clone()
    hidden = honest.problem.split.unlabeled
    labels[hidden] = 1 - labels[hidden]
    scrambled = training(method, source=replace(source, train=Images(source.train.pixels, labels)))
    run(honest), run(scrambled)
    assert torch.equal(weights(honest), weights(scrambled))


def test_the_loop_sees_no_hidden_label():
    problem = training("rot").problem
    assert (problem.labels[problem.split.unlabeled] == -1).all()
    assert (problem.labels[problem.split.labeled] >= 0).all()


@pytest.mark.parametrize("method", ["supervised", "rot", "soft-rot"])
@pytest.mark.parametrize("overrides", [{}, {"optimizer": "adam", "learning_rate": 1e-3, "ema": 0.0}])
def test_a_saved_state_goes_on_as_if_nothing_had_happened(method, overrides):
    whole = training(method, **overrides)
    lines = run(whole)
    first = training(method, **overrides)
    for _ in range(2):
        train_epoch(first)
        validate(first)
    saved = copy.deepcopy(state(first))
    second = training(method, **overrides)
    torch.rand(5)  # the global generator has moved on in the meantime
    restore(second, saved)
    rest = run(second)
    assert torch.equal(weights(whole), weights(second))
    assert [line["loss"] for line in rest] == [line["loss"] for line in lines[2:]]
    assert second.best is not None
    assert whole.best is not None
    assert second.best.validation_error == whole.best.validation_error
    assert all(torch.equal(a, b) for a, b in zip(*(t.best.weights.values() for t in (second, whole)), strict=True))


def test_the_best_weights_are_the_first_with_the_lowest_validation_error():
    t = training(steps=24)
    errors = [line["validation"] for line in run(t)]
    assert t.best is not None
    assert t.best.validation_error == min(errors)
    assert t.best.epoch == 1 + errors.index(min(errors))


def test_training_learns():
    assert min(line["validation"] for line in run(training(steps=60, labels=16))) < 0.1


def test_a_network_that_diverges_stops_with_its_epoch():
    t = training(optimizer="sgd", learning_rate=1e30, steps=40)
    with pytest.raises(Diverged, match=r"the loss at epoch 1 is (nan|inf): lower learning_rate"):
        run(t)


def test_outputs_that_are_not_numbers_stop_the_labelling_with_its_epoch():
    t = training("rot", warmup=0.0)
    torch.nn.init.constant_(t.matched.dense.weight, torch.nan)
    with pytest.raises(Diverged, match="at epoch 1: 88 of 88 unlabelled outputs are not finite"):
        train_epoch(t)


def test_alpha_weighs_the_pseudo_labelled_half():
    plain, none = training("rot", alpha=1.0, warmup=0.0), training("rot", alpha=0.0, warmup=0.0)
    assert run(plain)[0]["loss"] > run(none)[0]["loss"]


def test_labels_are_made_anew_as_often_as_asked():
    lines = run(training("rot", steps=24, warmup=0.0, relabel_epochs=3))
    assert ["transport_cost" in line for line in lines] == [True, False, False, True, False, False]


@pytest.mark.parametrize("method", ["rot", "soft-rot", "ss-gnn", "sm-gnn"])
def test_features_may_be_matched_in_place_of_outputs(method):
    t = training(method, warmup=0.0, match_on="features", pool="all")
    asked, labeler = [], t.method.labeler

    def listening(outputs, generator):
        asked.append(outputs)
        return labeler(outputs, generator)

    t.method = replace(t.method, labeler=listening)
    metrics = train_epoch(t)
    (outputs,) = asked
    assert outputs.features
    assert outputs.unlabeled.shape == (88, 64)
    clean = t.problem.clean(t.problem.store.take(t.problem.split.labeled))
    with torch.no_grad():
        expected = training(method).network.eval().features(clean)  # of the weights before the first step
    assert torch.allclose(outputs.labeled, expected, atol=1e-6)
    assert 0 <= metrics["classifier_accuracy"] <= 1
    assert float(t.labelled.confidence.max()) <= 1


def test_features_that_cannot_be_matched_are_refused_before_the_first_step():
    with pytest.raises(InputError, match="the classifier labels by its own outputs: leave match_on out"):
        training("self-label", match_on="features")
    t = training("rot")
    plan = replace(t.method, recipe=replace(t.method.recipe, match_on="features"))
    bare = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2))
    with pytest.raises(InputError, match="asks Sequential for its features and it has no method of that name"):
        begin(t.problem, plan, bare, t.clock, t.fabric, seed=0)
    bare.features = torch.nn.Conv2d(1, 3, 1)
    with pytest.raises(InputError, match=r"Sequential\.features gives \(1, 3, 8, 8\) for one image"):
        begin(t.problem, plan, bare, t.clock, t.fabric, seed=0)


def test_a_reset_optimizer_forgets_its_momentum():
    t = training("rot", warmup=0.25, reset_optimizer=True)
    train_epoch(t)
    assert t.optimizer.state
    before = [s["momentum_buffer"].clone() for s in t.optimizer.state.values()]
    train_epoch(t)
    assert len(t.optimizer.state) == len(before)
    kept = training("rot", warmup=0.25)
    train_epoch(kept)
    train_epoch(kept)
    assert not torch.equal(weights(t), weights(kept))


def test_a_method_that_needs_unlabelled_images_says_so():
    source = stripes()
    with pytest.raises(InputError, match="learns from unlabelled images and stripes has none"):
        training("rot", source=source, labels=96)


def test_images_may_be_a_memory_map(tmp_path):
    source = stripes()
    source.train.pixels.numpy().tofile(tmp_path / "pixels")
    mapped = torch.from_file(str(tmp_path / "pixels"), size=96 * 64, dtype=torch.uint8).view(96, 1, 8, 8)
    there = replace(source, train=Images(mapped, source.train.labels))
    a, b = training("rot", source=source), training("rot", source=there)
    run(a), run(b)
    assert torch.equal(weights(a), weights(b))


def test_sgd_runs_without_momentum():
    t = training(optimizer="sgd", momentum=0.0, steps=8)
    before = weights(t).clone()
    run(t)
    assert not torch.equal(weights(t), before)

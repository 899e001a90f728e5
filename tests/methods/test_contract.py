"""What every method of the catalogue keeps, and every term of every method."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from small_runs import CLASSES, method, run, short, stripes, training, weights

from fewlabels.methods import METHODS, RECIPES, VAT, Batch, Ramp, Step
from fewlabels.models import SmallNet
from fewlabels.train import checkpoint
from fewlabels.train.loop import restore, state, train_epoch

TERMS = [(name, i) for name, entry in METHODS.items() for i in range(len(entry.terms))]
WITH_TERMS = [name for name, entry in METHODS.items() if entry.terms]
EARLY = {"warmup": 0.3}  # two of six steps on labels alone, then labelers speak


@pytest.mark.parametrize("recipe", [None, *RECIPES])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_runs_under_every_recipe_and_moves_the_weights(name, recipe):
    entry = METHODS[name]
    own = entry.recipe if recipe is None else RECIPES[recipe](entry.recipe)
    t = training(replace(entry, recipe=short(own, **EARLY)))
    before = weights(t)
    losses = run(t)
    assert all(torch.isfinite(torch.tensor(losses)))
    assert torch.isfinite(weights(t)).all()
    moved = [not torch.equal(a, b) for a, b in zip(before.split(500), weights(t).split(500), strict=True)]
    assert all(moved)


@pytest.mark.parametrize("name", METHODS)
def test_the_strong_recipe_shows_every_student_the_same_images(name):
    recipe = RECIPES["strong"](METHODS[name].recipe)
    assert recipe.unlabeled_views[-1] == recipe.labeled_view == "strong"
    assert len(recipe.unlabeled_views) == len(METHODS[name].recipe.unlabeled_views)
    assert replace(recipe, unlabeled_views=()) == replace(RECIPES["strong"](METHODS["rot"].recipe), unlabeled_views=())


@pytest.mark.parametrize("name", METHODS)
def test_a_checkpoint_goes_on_as_if_nothing_had_happened(name, tmp_path):
    whole = training(method(name, **EARLY))
    losses = run(whole)
    first = training(method(name, **EARLY))
    for _ in range(2):
        train_epoch(first)
    checkpoint.save(tmp_path / "run", state(first), kind="checkpoint")
    second = training(method(name, **EARLY))
    torch.rand(5)
    restore(second, checkpoint.load(tmp_path / "run", kind="checkpoint"))
    assert run(second) == losses[2:]
    assert torch.equal(weights(whole), weights(second))


@pytest.mark.parametrize("name", METHODS)
def test_scrambled_hidden_labels_change_nothing(name):
    honest, scrambled = (training(method(name, **EARLY)) for _ in range(2))
    truth = scrambled.problem.truth.open_for_metrics().roll(1)
    scrambled.problem = replace(scrambled.problem, truth=type(scrambled.problem.truth)(truth))
    assert run(honest) == run(scrambled)
    assert torch.equal(weights(honest), weights(scrambled))


@pytest.mark.parametrize("name", WITH_TERMS)
def test_zero_weight_is_the_recipe_without_the_term(name):
    """``Method.active`` drops such a term, so this asks whether the loop asks ``active``, and nowhere ``terms``."""
    plan = method(name)
    for labeler in (None, METHODS["rot"].labeler):
        without = training(replace(plan, terms=(), labeler=labeler))
        losses = run(without)
        for nothing in (0.0, Ramp(0.0)):
            zero = training(replace(plan, terms=tuple((nothing, term) for _, term in plan.terms), labeler=labeler))
            assert run(zero) == losses
            assert torch.equal(weights(zero), weights(without))


@pytest.mark.parametrize("name", METHODS)
def test_running_statistics_come_from_the_students_own_pass(name):
    t = training(method(name))
    seen = []
    t.network.register_forward_pre_hook(lambda _, args: seen.append(args[0].clone()))
    fresh = SmallNet(classes=CLASSES, channels=1)
    fresh.load_state_dict(t.network.state_dict())
    fresh.train()
    t.method = replace(t.method, recipe=replace(t.method.recipe, epoch_steps=1))
    train_epoch(t)
    fresh(seen[0])  # the student runs first; what a term looks at comes after
    assert len(seen) > 1 or t.unlabeled is None or len(t.unlabeled_views) == 1
    for (key, mine), theirs in zip(t.network.named_buffers(), fresh.buffers(), strict=True):
        assert torch.allclose(mine, theirs), key


@pytest.mark.parametrize("low", [False, True], ids=["float32", "bf16"])
@pytest.mark.parametrize(("name", "i"), TERMS)
def test_gradients_reach_the_student_and_never_the_state(name, i, low):
    _, term = METHODS[name].terms[i]
    torch.manual_seed(0)
    model = SmallNet(classes=CLASSES, channels=1)
    model.dense.weight.data.mul_(8)  # sure enough to be believed, not so sure that nothing is left to learn
    held = term.init(model, classes=CLASSES, unlabeled=20, prior=torch.full((CLASSES,), 1 / CLASSES))
    for _ in range(2):  # the second time the state has been learned from a batch
        with torch.autocast("cpu", torch.bfloat16, enabled=low):
            batch = small_batch(model)
        buffers = [b.clone() for b in model.buffers()]
        with torch.autocast("cpu", torch.bfloat16, enabled=low):  # as in the loop, the term has a context of its own
            loss, held = term.loss(held, model, batch, Step(0, 0.5))
        assert loss.shape == ()
        assert loss.dtype == torch.float32
        assert all(leaf.dtype == torch.float32 for leaf in leaves(held))
        assert torch.isfinite(loss)
        assert all(torch.equal(a, b) for a, b in zip(buffers, model.buffers(), strict=True))
    loss.backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
    before = [leaf.clone() for leaf in leaves(held)]
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1)
    assert all(torch.equal(a, b) for a, b in zip(before, leaves(held), strict=True))  # no leaf is the student's own
    held = term.update(held, model, Step(0, 0.5))
    assert not any(leaf.requires_grad for leaf in leaves(held))


@pytest.mark.parametrize(("name", "i"), TERMS)
def test_what_is_agreed_with_gets_no_gradient(name, i):
    """A term moves the student's own pass and nothing else; VAT moves the changed images' and not the student's own."""
    _, term = METHODS[name].terms[i]
    torch.manual_seed(0)
    model = SmallNet(classes=CLASSES, channels=1)
    model.dense.weight.data.mul_(8)
    batch = small_batch(model)
    student = batch.student.detach().requires_grad_()
    held = term.init(model, classes=CLASSES, unlabeled=20, prior=torch.full((CLASSES,), 1 / CLASSES))
    for _ in range(2):
        loss, held = term.loss(held, model, replace(batch, student=student), Step(0, 0.5))
    loss.backward()
    reached = [p.grad is not None for p in model.parameters()]
    if isinstance(term, VAT):
        assert student.grad is None
        assert all(reached)
    else:
        assert student.grad is not None
        assert student.grad.abs().sum() > 0
        assert not any(reached)


def small_batch(model):
    """Three labelled images, and five unlabelled ones in two views."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(3, 1, 8, 8, generator=generator)
    views = tuple(torch.randn(5, 1, 8, 8, generator=generator) for _ in range(2))
    logits = model(torch.cat([images, views[1]])).float()
    return Batch(images, torch.tensor([0, 1, 2]), logits[:3], views, logits[3:], torch.arange(5) * 4, generator)


def leaves(node):
    if isinstance(node, torch.Tensor):
        return [node]
    if isinstance(node, dict):
        return [leaf for value in node.values() for leaf in leaves(value)]
    assert node is None
    return []


def test_all_methods_draw_the_same_images():
    """A step means the same for every method: equal budgets see equal numbers of images.

    There is no warm-up here, for in it a labeler has not spoken and a step sees labelled images alone.
    """
    counts = set()
    for name in METHODS:
        plan = replace(METHODS[name], recipe=short(RECIPES["strong"](METHODS[name].recipe), warmup=0.0))
        t = training(plan, source=stripes(), steps=2)
        counts.add(train_epoch(t)["images"])
    assert counts == {2 * 6, 2 * (6 + 12)}  # supervised, and all others

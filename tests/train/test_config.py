from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewlabels.errors import InputError
from fewlabels.methods import METHODS, RECIPES
from fewlabels.train.config import Config, from_toml, plan_of, to_toml
from fewlabels.train.device import pick_precision

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=20)


@given(data=WORDS, seed=st.integers(0, 2**40), alpha=st.floats(0, 10), views=st.lists(WORDS, max_size=3))
def test_a_request_survives_its_file(tmp_path_factory, data, seed, alpha, views):
    config = Config(data, seed=seed, minutes=1.5, overrides={"alpha": alpha, "unlabeled_views": tuple(views)})
    path = tmp_path_factory.mktemp("toml") / "config.toml"
    path.write_text(to_toml(config), encoding="utf-8")
    assert from_toml(path) == config


@pytest.mark.parametrize(
    ("data", "normalize", "eps"),
    [("cifar10", None, 6.0), ("cifar10", "gcn-zca", 6.0), ("cifar10", "symmetric", None), ("svhn", "symmetric", 1.0)],
)
def test_a_radius_belongs_to_the_data_and_its_normalisation(data, normalize, eps):
    [(_, term)] = plan_of(Config(data, "vat", normalize=normalize)).terms
    assert term.eps == eps


def test_overrides_reach_the_recipe_and_the_labeler():
    plan = plan_of(Config("digits", method="rot", epochs=3, overrides={"alpha": 0.5, "reg": 0.1, "pool": "all"}))
    assert (plan.recipe.alpha, plan.recipe.pool, plan.recipe.epochs) == (0.5, "all", 3)
    assert plan.labeler.reg == 0.1
    assert plan_of(Config("digits", method="rot")) == METHODS["rot"]


def test_none_is_a_setting_where_a_setting_may_be_none(tmp_path):
    config = Config("digits", overrides={"ema": None, "clusters": None})
    recipe = plan_of(config).recipe
    assert (recipe.ema, recipe.evaluate, recipe.match_with) == (None, "student", "student")
    (tmp_path / "config.toml").write_text(to_toml(config))
    assert 'ema = "none"' in to_toml(config)
    assert from_toml(tmp_path / "config.toml") == config
    with pytest.raises(InputError, match="alpha is None: give a number"):
        plan_of(Config("digits", overrides={"alpha": None}))


@pytest.mark.parametrize("name", ["match_with", "evaluate"])
@pytest.mark.parametrize("asked", [{"recipe": "paper"}, {"overrides": {"ema": 0.0}}])
def test_an_average_that_is_not_kept_cannot_be_looked_at(name, asked):
    config = Config("digits", **asked)
    assert getattr(plan_of(config).recipe, name) == "student"
    with pytest.raises(InputError, match=f"{name} is 'ema' and no average of the weights is kept: give ema=0.99"):
        plan_of(replace(config, overrides={**config.overrides, name: "ema"}))
    assert plan_of(replace(config, overrides={"ema": 0.9, name: "ema"})).recipe.ema == 0.9


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_under_every_recipe(name, method):
    plan = plan_of(Config("digits", method=method, recipe=name))
    assert plan.labeler == METHODS[method].labeler
    assert len(plan.recipe.unlabeled_views) == len(METHODS[method].recipe.unlabeled_views)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "rott"}, "there is no method 'rott'. Did you mean 'rot'"),
        ({"recipe": "stronk"}, "there is no recipe 'stronk'. Did you mean 'strong'"),
        ({"overrides": {"lerning_rate": 1.0}}, "no setting 'lerning_rate'. Did you mean 'learning_rate'"),
        ({"overrides": {"threshold": 0.5}}, "no setting 'threshold'"),
        ({"overrides": {"learning_rate": "fast"}}, "learning_rate is 'fast': give a number"),
        ({"overrides": {"schedule": "linear"}}, "schedule is 'linear': give 'constant', 'step' or 'cosine'"),
        ({"overrides": {"pool": "some"}}, "pool is 'some': give a whole number, 'labeled' or 'all'"),
        ({"overrides": {"unlabeled_views": "strong"}}, "give a list of one or more, each of it a word"),
        ({"overrides": {"unlabeled_views": ()}}, "unlabeled_views is (): give a list of one or more"),
    ],
)
def test_what_cannot_be_is_refused_at_the_door(changes, message):
    with pytest.raises(InputError) as raised:
        plan_of(replace(Config("digits", method="rot"), **changes))
    assert message in str(raised.value)


def test_budgets():
    with pytest.raises(InputError, match="one budget, got --epochs and --minutes"):
        Config("digits", epochs=1, minutes=2.0)
    with pytest.raises(InputError, match="--steps must be above zero, got 0"):
        Config("digits", steps=0)
    for minutes in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="--minutes must be above zero"):
            Config("digits", minutes=minutes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": -1}, r"--seed must lie in 0 \.\. 1,099,511,627,776, got -1"),
        ({"seed": 2**70}, "--seed must lie in"),
        ({"labels": 0}, "--labels must be above zero"),
        ({"unlabeled": -1}, "--unlabeled must be zero or more"),
        ({"validation": -1}, "--validation must be zero or more"),
        ({"devices": 0}, "--devices must be above zero"),
        ({"stratify": "even"}, "--stratify is 'even': choose equal or proportional"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        Config("digits", **changes)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("learning_rate", 0.0, "above 0"),
        ("learning_rate", float("nan"), "above 0"),
        ("weight_decay", -1.0, "of at least 0"),
        ("labeled_batch", 0, "of at least 1"),
        ("unlabeled_batch", -4, "of at least 1"),
        ("epoch_steps", 0, "of at least 1"),  # such a run would never end
        ("relabel_epochs", 0, "of at least 1"),
        ("pool", 0, "of at least 1"),
        ("warmup", 1.5, "from 0 to 1"),
        ("alpha", float("inf"), "of at least 0"),
        ("alpha_ramp", -0.1, "from 0 to 1"),
        ("ema", 2.0, "from 0 to 1"),
        ("reg", float("nan"), "above 0"),
        ("order", float("inf"), "that is finite"),
        ("every", 0, "of at least 1"),
        ("bound", 0.0, "above 0"),
        ("decay", 1.5, "from 0 to 1"),
        ("xi", 0.0, "above 0"),
        ("eps", -1.0, "of at least 0"),
        ("iterations", -1, "of at least 0"),
        ("sigmas", -1.0, "of at least 0"),
    ],
)
def test_settings_have_their_ranges(name, value, message):
    having = {"every": "sla", "bound": "sla", "decay": "mean-teacher", "sigmas": "softmatch"}
    method = having.get(name, "vat" if name in ("xi", "eps", "iterations") else "rot")
    with pytest.raises(InputError, match=f"{name} is {value}: give a number {message}"):
        plan_of(Config("digits", method=method, overrides={name: value}))


@pytest.mark.parametrize(
    ("precision", "device"), [("auto", "cpu"), ("bf16", "cpu"), ("float32", "cpu"), ("fp16", "cuda")]
)
def test_precisions(precision, device):
    assert pick_precision(precision, device) == (precision if precision != "auto" else pick_precision("auto", device))


def test_fp16_is_refused_where_it_would_silently_be_another():
    with pytest.raises(InputError, match="precision fp16 needs a GPU"):
        pick_precision("fp16", "cpu")
    assert pick_precision("fp16", "cuda") == "fp16"
    assert pick_precision("auto", "cpu") in ("bf16", "float32")


def test_a_file_with_an_unknown_setting_names_the_nearest(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('data = "digits"\nmetod = "rot"\n')
    with pytest.raises(InputError, match=r"unknown setting .metod.\. Did you mean .method."):
        from_toml(path)
    path.write_text("data = \n")
    with pytest.raises(InputError, match="not a TOML file"):
        from_toml(path)
    with pytest.raises(InputError, match="is this a run folder"):
        from_toml(tmp_path / "none.toml")
    path.write_text('data = "digits"\noverrides = 3\n')
    with pytest.raises(InputError, match="has overrides = 3: give a table"):
        from_toml(path)
    with pytest.raises(InputError, match="cannot be read"):
        from_toml(tmp_path)
    path.write_bytes(b'\xef\xbb\xbfdata = "digits"\n')  # what some editors put first
    assert from_toml(path) == Config("digits")
    path.write_text('method = "rot"\n')
    with pytest.raises(InputError, match="lacks data"):
        from_toml(path)
    path.write_text('data = "digits"\nseed = "one"\n')
    with pytest.raises(InputError, match="seed is 'one': give a whole number"):
        from_toml(path)

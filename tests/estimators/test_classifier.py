"""What ``ROTClassifier`` does beside the contract: images, networks of one's own, what it says."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from partial_labels import hide, pictures, table
from sklearn.base import clone
from torch import nn

from fewlabels import ROTClassifier
from fewlabels.errors import Diverged, InputError
from fewlabels.estimators.recipe import read_recipe
from fewlabels.estimators.samples import ROWS
from fewlabels.methods import RECIPES, Recipe

QUICK = Recipe(epoch_steps=16, pool="all", ema=None)  # an average of so few steps would be of the first weights


def small(**options) -> ROTClassifier:
    return ROTClassifier(max_iter=4, recipe=QUICK, random_state=0, **options)


@pytest.mark.parametrize(
    "shape",
    [
        lambda X: X,
        lambda X: X[..., None],
        lambda X: X[:, None],
        lambda X: np.repeat((255 * X).astype(np.uint8)[..., None], 3, axis=3),
    ],
    ids=["N H W", "N H W C", "N C H W", "bytes N H W 3"],
)
def test_images_of_every_layout(shape):
    X, y, truth = pictures()
    fitted = small().fit(shape(X), y)
    assert (fitted.transduction_ == truth).mean() > 0.9
    assert (fitted.transduction_[y >= 0] == truth[y >= 0]).all()
    assert fitted.predict_proba(shape(X)[:7]).shape == (7, 3)
    assert fitted.n_iter_ == 4
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(shape(X)[:7]), fitted.predict_proba(shape(X)[:7]))


def test_images_with_names_and_none_unlabelled():
    X, _, truth = pictures()
    names = np.array(["zero", "one", "two"])[truth]
    fitted = small(unlabeled="").fit(X, names)
    assert fitted.score(X, names) > 0.95
    assert fitted.classes_.tolist() == ["one", "two", "zero"]
    assert all("transport_cost" not in metrics for metrics in fitted.history_)


def test_images_of_another_size_are_refused():
    X, y, _ = pictures()
    fitted = small().fit(X, y)
    with pytest.raises(InputError, match="8"):
        fitted.predict(np.zeros((2, 9, 9)))


def test_a_network_of_one_s_own_is_copied_and_must_fit():
    X, y, truth = table(per_class=5)
    network = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 3))
    before = [p.clone() for p in network.parameters()]
    assert (ROTClassifier(model=network, max_iter=4, random_state=0).fit(X, y).predict(X) == truth).mean() > 0.9
    assert all(torch.equal(a, b) for a, b in zip(before, network.parameters(), strict=True))
    with pytest.raises(InputError, match=r"the network gives \(1, 4\) for one sample, and 3 logits are needed"):
        ROTClassifier(model=nn.Linear(5, 4)).fit(X, y)


def test_the_history_holds_what_each_epoch_measured():
    X, y, _ = table()
    history = ROTClassifier(max_iter=4, random_state=0).fit(X, y).history_
    assert {"transport_cost", "labels_per_class", "collisions", "cluster_sizes"} <= set(history[-1])
    assert history[-1]["pool"] == 144


def test_verbose_says_a_line_an_epoch(capsys):
    X, y, _ = table()
    ROTClassifier(max_iter=3, verbose=True, random_state=0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "transport cost" in lines[-1]


def test_fewer_rows_than_clusters_are_said_only_to_who_asked():
    X, _, truth = table()
    few = np.concatenate([np.flatnonzero(truth == j)[:2] for j in range(3)])
    y = hide(truth[few], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ROTClassifier(max_iter=2).fit(X[few], y)
    with pytest.warns(UserWarning, match="9 clusters were asked of 3 unlabelled rows and"):
        ROTClassifier(max_iter=2, clusters=9).fit(X[few], y)


def test_a_network_that_diverges_is_told_with_its_epoch():
    X, y, _ = table()
    recipe = Recipe(optimizer="sgd", learning_rate=1e30, labeled_view="plain", unlabeled_views=("plain",), pool="all")
    with pytest.raises(Diverged, match=r"at epoch 1 is (nan|inf): lower learning_rate \(now 1e\+30\)") as raised:
        ROTClassifier(max_iter=3, recipe=recipe, random_state=0).fit(X, y)
    assert "checkpoint" not in str(raised.value)  # there is none


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schedule": "cosin"}, "schedule is 'cosin': give 'constant', 'step' or 'cosine'"),
        ({"optimizer": "adamw"}, "optimizer is 'adamw': give 'adam' or 'sgd'"),
        ({"evaluate": "emma"}, "evaluate is 'emma'"),
        ({"match_with": "emma"}, "match_with is 'emma'"),
        ({"pool": -4}, "pool is -4: give a number of at least 1"),
        ({"pool": None}, "pool is None: give"),
        ({"relabel_epochs": 0}, "relabel_epochs is 0"),
        ({"labeled_view": "strong"}, "no view of feature rows is called 'strong'"),
        (
            {"alpha": 0.0},
            r"the recipe has alpha=0\.0 and the estimator alpha=1\.0: leave it out .* give alpha=0",
        ),
        ({"epochs": 7}, "the recipe has epochs=7 and the estimator max_iter=2: leave it out .* give max_iter=7"),
    ],
)
def test_a_recipe_is_looked_at_as_a_run_s_settings_are(settings, message):
    X, y, _ = table()
    with pytest.raises(InputError, match=message):
        ROTClassifier(max_iter=2, recipe=replace(ROWS, **settings)).fit(X, y)


def test_a_recipe_may_say_what_the_estimator_says():
    X, y, _ = table()
    usual, said = (
        ROTClassifier(max_iter=2, alpha=0.5, recipe=recipe, random_state=0).fit(X, y)
        for recipe in (None, replace(ROWS, alpha=0.5, epochs=2))
    )
    assert np.array_equal(usual.predict_proba(X), said.predict_proba(X))


def test_a_recipe_by_its_name():
    own = Recipe(unlabeled_views=("weak", "strong"))
    assert read_recipe("oliver", own, max_iter=3, alpha=0.5) == replace(RECIPES["oliver"](own), epochs=3, alpha=0.5)
    X, y, _ = pictures()
    named = ROTClassifier(max_iter=1, recipe="paper", random_state=0).fit(X, y)
    assert named.history_[0]["learning_rate"] == 3e-3  # Adam's in the paper; IMAGES starts SGD at 0.1
    with pytest.raises(InputError, match=r"there is no recipe 'papper'\. Did you mean 'paper'"):
        ROTClassifier(recipe="papper").fit(X, y)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": 0}, "max_iter is 0"),
        ({"max_iter": "3"}, "max_iter is '3'"),
        ({"alpha": -1.0}, "alpha is -1"),
        ({"alpha": "1"}, "alpha is '1' and"),
        ({"alpha": float("nan")}, "alpha is nan"),
        (
            {"recipe": {"alpha": 1}},
            r"recipe is \{'alpha': 1\}: give a fewlabels\.methods\.Recipe or a name: strong",
        ),
        ({"model": 3}, "model is 3: give a name, 'auto' say, or a torch.nn.Module"),
        ({"model": nn.Linear}, "model is <class .*Linear'>: give a name"),
    ],
)
def test_options_out_of_range_are_refused_in_a_sentence(options, message):
    X, y, _ = table()
    with pytest.raises(InputError, match=message):
        clone(ROTClassifier()).set_params(**options).fit(X, y)

from __future__ import annotations

import numpy as np
import pytest
import torch
from partial_labels import hide
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_iris

from fewlabels import TransportLabeler
from fewlabels.errors import InputError
from fewlabels.estimators.metric import shrunk_covariance, within_classes


@pytest.mark.parametrize(("n", "d"), [(8, 20), (50, 5), (400, 3)])
def test_the_covariance_is_ledoit_and_wolf_s(n, d):
    x = np.random.default_rng(n).normal(size=(n, d)) * np.linspace(1, 9, d)
    expected, _ = ledoit_wolf(x, assume_centered=True)
    assert np.allclose(shrunk_covariance(torch.from_numpy(x)).numpy(), expected)


def test_in_the_metric_of_many_rows_classes_are_round():
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(6000) % 3
    mixing = torch.tensor([[5.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    rows = 1e4 + 30 * labels[:, None] + torch.randn(6000, 2, generator=generator, dtype=torch.float64) @ mixing
    seen = rows @ within_classes(rows, labels, 3)
    for j in range(3):
        assert torch.allclose(seen[labels == j].T.cov(), torch.eye(2, dtype=torch.float64), atol=0.1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_without_spread_keep_their_metric(dtype):
    metric = within_classes(torch.ones(5, 3, dtype=dtype), torch.tensor([0, 0, 0, 1, 1]), 2)
    assert torch.equal(metric, torch.eye(3, dtype=dtype))
    one_column = torch.zeros(6, 2, dtype=dtype)
    one_column[:, 0] = torch.arange(6)
    assert torch.isfinite(within_classes(one_column, torch.arange(6) % 2, 2)).all()


def stretched(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that differ in one column, beside one that is ten times as wide and says nothing."""
    rng = np.random.default_rng(seed)
    truth = np.arange(400) % 2
    return np.c_[10 * rng.normal(size=400), 3 * truth + 0.5 * rng.normal(size=400)], truth


@pytest.mark.parametrize("seed", range(3))
def test_rounds_find_the_column_that_tells_classes_apart(seed):
    X, truth = stretched(seed)
    y = hide(truth, 10, seed)
    once, more = (TransportLabeler(rounds=rounds, random_state=0).fit(X, y) for rounds in (1, 4))
    assert (more.transduction_ == truth).mean() > 0.95
    assert (more.transduction_ == truth).mean() >= (once.transduction_ == truth).mean()
    assert (more.predict(X)[y < 0] == more.transduction_[y < 0]).mean() > 0.99


def test_the_metric_is_of_rows_over_their_scale():
    X, truth = stretched(0)
    near, far = (TransportLabeler(random_state=0).fit(factor * X, hide(truth, 10)) for factor in (1, 2.0**900))
    assert near.scale_ == np.abs(X).max()
    assert far.scale_ == 2.0**900 * near.scale_
    assert np.array_equal(near.metric_, far.metric_)
    assert np.array_equal(2.0**900 * near.cluster_centers_, far.cluster_centers_)


def test_one_round_takes_the_columns_as_they_come():
    X, truth = stretched(0)
    assert np.array_equal(TransportLabeler(rounds=1).fit(X, hide(truth, 10)).metric_, np.eye(2))


def test_known_labels_alone_give_a_metric_where_nothing_is_unlabelled():
    X, truth = stretched(0)
    labeler = TransportLabeler().fit(X, truth)
    assert labeler.metric_[1, 1] > 2 * labeler.metric_[0, 0]
    assert (labeler.predict(X) == truth).mean() > 0.95


def test_the_default_is_no_worse_than_one_round_on_iris():
    X, truth = load_iris(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)

    def right(rounds: int) -> float:
        fits = [TransportLabeler(rounds=rounds, random_state=s).fit(X, hide(truth, 5, s)) for s in range(5)]
        return float(np.mean([(one.transduction_ == truth).mean() for one in fits]))

    assert right(TransportLabeler().rounds) > max(0.92, right(1))


@pytest.mark.parametrize("rounds", [0, 1.5, None])
def test_rounds_out_of_range_are_refused_in_a_sentence(rounds):
    X, truth = stretched(0)
    with pytest.raises(InputError, match="at least 1 is needed"):
        TransportLabeler(rounds=rounds).fit(X, truth)

"""Scikit-learn's whole suite, and what both estimators promise beside it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from partial_labels import hide, table
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from fewlabels import ROTClassifier, TransportLabeler
from fewlabels.errors import InputError

EXPECTED = {"check_classifiers_classes": "its binary labels are -1 and 1, and -1 marks what is not labelled"}
ESTIMATORS = [TransportLabeler(random_state=0), ROTClassifier(max_iter=2, random_state=0)]
both = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)


@pytest.mark.slow
@both
def test_scikit_learn_s_own_suite(estimator):
    results = check_estimator(clone(estimator), expected_failed_checks=EXPECTED, on_skip=None)
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(EXPECTED)
    assert estimator.__sklearn_tags__().input_tags.two_d_array


@both
def test_separate_clouds_get_their_labels(estimator):
    X, y, truth = table()
    fitted = clone(estimator).fit(X, y)
    assert (fitted.transduction_ == truth).all()
    assert (fitted.predict(X) == truth).all()
    assert fitted.score(X, truth) == 1
    assert fitted.n_iter_ >= 1
    assert fitted.classes_.tolist() == [0, 1, 2]


@both
def test_known_labels_stay_even_when_they_are_wrong(estimator):
    X, y, truth = table(per_class=5)
    known = np.flatnonzero(y >= 0)
    y[known[0]] = (truth[known[0]] + 1) % 3
    fitted = clone(estimator).fit(X, y)
    assert (fitted.transduction_[known] == y[known]).all()


@both
@pytest.mark.parametrize("unlabeled", ["", "?", None, -1])
def test_names_for_labels(estimator, unlabeled):
    X, _, truth = table()
    names = np.array(["cat", "dog", "emu"])[truth]
    fitted = clone(estimator).set_params(unlabeled=unlabeled).fit(X, hide(names, 2, unlabeled=unlabeled))
    assert fitted.classes_.tolist() == ["cat", "dog", "emu"]
    assert (fitted.predict(X) == names).all()
    assert (fitted.transduction_ == names).all()


@both
@pytest.mark.parametrize(("kind", "mark"), [(int, None), (int, ""), (bool, None), (float, None)])
def test_labels_that_are_objects_for_their_mark_alone(estimator, kind, mark):
    X, _, truth = table()
    truth = (truth > 0).astype(int)
    y = np.array([mark if code < 0 else kind(code) for code in hide(truth, 4)], dtype=object)
    fitted = clone(estimator).set_params(unlabeled=mark).fit(X, y)
    assert fitted.classes_.dtype == np.dtype(kind)
    assert (fitted.transduction_ == truth).all()
    assert fitted.score(X, y) == 1


@both
def test_nothing_unlabelled(estimator):
    X, _, truth = table()
    fitted = clone(estimator).fit(X, truth)
    assert (fitted.transduction_ == truth).all()
    assert fitted.score(X, truth) == 1


@both
def test_probabilities_are_distributions_and_their_first_choice_is_the_prediction(estimator):
    X, y, _ = table()
    fitted = clone(estimator).fit(X, y)
    p = fitted.predict_proba(X[:9])
    assert p.shape == (9, 3)
    assert p.dtype == np.float64
    assert np.allclose(p.sum(1), 1)
    assert (p >= 0).all()
    assert (fitted.classes_[p.argmax(1)] == fitted.predict(X[:9])).all()


@both
def test_one_seed_gives_one_result_and_leaves_torch_as_it_was(estimator):
    X, y, _ = table()
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    first = clone(estimator).fit(X, y).predict_proba(X)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(3)
    second = clone(estimator).fit(X, y).predict_proba(X)
    assert torch.get_num_threads() == threads
    assert (first == second).all()
    torch.set_rng_state(before)


@both
def test_another_seed_may_come_from_a_random_state(estimator):
    X, y, truth = table()
    fitted = clone(estimator).set_params(random_state=np.random.RandomState(3)).fit(X, y)
    assert (fitted.predict(X) == truth).all()


@both
def test_pickles_and_copies_predict_the_same(estimator):
    X, y, _ = table()
    fitted = clone(estimator).fit(X, y)
    expected = fitted.predict_proba(X)
    assert (pickle.loads(pickle.dumps(fitted)).predict_proba(X) == expected).all()
    assert (copy.deepcopy(fitted).predict_proba(X) == expected).all()
    assert not hasattr(clone(fitted), "classes_")


@both
def test_the_input_is_not_changed(estimator):
    X, y, _ = table()
    kept_X, kept_y = X.copy(), y.copy()
    clone(estimator).fit(X, y).predict(X)
    assert np.array_equal(X, kept_X)
    assert np.array_equal(y, kept_y)


@both
def test_float32_rows(estimator):
    X, y, truth = table()
    assert (clone(estimator).fit(X.astype(np.float32), y).predict(X.astype(np.float32)) == truth).all()


@both
@pytest.mark.parametrize(
    ("dtype", "factor"), [(np.float32, 1e-35), (np.float32, 1e30), (np.float64, 1e-300), (np.float64, 1e300)]
)
def test_no_scale_is_too_small_or_too_large(estimator, dtype, factor):
    X, y, truth = table()
    X = (factor * X).astype(dtype)
    fitted = clone(estimator).fit(X, y)
    assert (fitted.transduction_ == truth).all()
    assert (fitted.predict(X) == truth).all()


@both
def test_a_row_too_far_out_to_be_measured_is_refused(estimator):
    X, y, _ = table()
    fitted = clone(estimator).fit(1e-20 * X, y)
    with pytest.raises(InputError, match=r"1 of 3 rows lie more than \de\+\d+ times the spread of the fitted"):
        fitted.predict_proba(np.concatenate([1e-20 * X[:2], np.full((1, 5), 1e300)]))


class Table:
    """As much of a data frame as is looked at: it gives an array, and its rows by ``iloc``."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.shape, self.taken = values, values.shape, []

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def iloc(self) -> Table:
        return self

    def __getitem__(self, rows: np.ndarray) -> Table:
        self.taken.append(rows)
        return Table(self.values[rows])


@both
def test_a_table_is_read_as_its_array(estimator):
    X, y, _ = table()
    frame = Table(X)
    fitted = clone(estimator).fit(frame, y)
    assert (fitted.predict_proba(frame) == clone(estimator).fit(X, y).predict_proba(X)).all()
    assert fitted.score(frame, y) == 1
    assert [rows.tolist() for rows in frame.taken] == [np.flatnonzero(y >= 0).tolist()]


@both
def test_nothing_is_printed(estimator, capfd):
    X, y, _ = table()
    clone(estimator).fit(X, y).predict(X)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


@both
def test_a_score_leaves_unlabelled_rows_out(estimator):
    X, y, truth = table(per_class=10)
    fitted = clone(estimator).fit(X, y)
    mixed = y.copy()
    mixed[y >= 0] = (truth[y >= 0] + (np.arange(30) < 3)) % 3
    assert fitted.score(X, mixed) == pytest.approx(0.9)
    weights = np.where(mixed == truth, 1.0, 0.0)
    assert fitted.score(X, mixed, sample_weight=weights) == 1
    with pytest.raises(InputError, match="0 of 150 rows are labelled and a score needs at least 1"):
        fitted.score(X, np.full(150, -1))


@both
def test_cross_validation_grid_search_and_pipelines(estimator):
    X, y, _ = table(per_class=6)
    assert cross_val_score(clone(estimator), X, y, cv=3).tolist() == [1, 1, 1]
    search = GridSearchCV(clone(estimator), {"reg": [0.1, 0.5]}, cv=2).fit(X, y)
    assert search.best_score_ == 1
    assert make_pipeline(StandardScaler(), clone(estimator)).fit(X, y).score(X, y) == 1


@both
def test_a_prior_tells_what_even_labels_hide(estimator):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.3, (90, 2)), rng.normal(4, 0.3, (10, 2))])
    truth = np.repeat([0, 1], [90, 10])
    fitted = clone(estimator).set_params(class_prior=[0.9, 0.1]).fit(X, hide(truth, 3))
    assert (fitted.transduction_ == truth).all()


@both
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class_prior": [0.5, 0.4, 0.2]}, r"class_prior sums to 1\.1"),
        ({"class_prior": [0.5, 0.5]}, "class_prior has 2 entries and there are 3 classes"),
        ({"reg": 0.0}, "reg is 0"),
        ({"weights": "even"}, "weights is 'even'"),
        ({"clusters": 2}, "2 clusters for 3 classes"),
        ({"device": "tpu"}, "there is no device 'tpu'"),
    ],
)
def test_options_out_of_range_are_refused_in_a_sentence(estimator, options, message):
    X, y, _ = table()
    with pytest.raises(InputError, match=message):
        clone(estimator).set_params(**options).fit(X, y)


@both
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class_prior": {0: 0.5, 1: 0.5}}, r"class_prior is \{0: 0\.5, 1: 0\.5\}: give one mass a class"),
        ({"class_prior": "uniform"}, "class_prior is 'uniform': give one mass a class"),
        ({"clusters": 4.5}, "clusters is 4.5: give a whole number"),
        ({"clusters": "6"}, "clusters is '6': give a whole number"),
        ({"reg": "x"}, "reg is 'x' and"),
    ],
)
def test_options_of_the_wrong_kind_are_refused_in_a_sentence(estimator, options, message):
    X, y, _ = table()
    with pytest.raises(InputError, match=message):
        clone(estimator).set_params(**options).fit(X, y)


@both
def test_bad_data_are_refused_in_a_sentence(estimator):
    X, y, _ = table()
    with pytest.raises(InputError, match="0 of 150 rows are labelled"):
        clone(estimator).fit(X, np.full(150, -1))
    with pytest.raises(ValueError, match="contains NaN"):
        clone(estimator).fit(np.where(np.arange(150)[:, None] == 7, np.nan, X), y)
    fitted = clone(estimator).fit(X, y)
    with pytest.raises(ValueError, match=r"4 features, but .* is expecting 5 features"):
        fitted.predict(X[:, :4])
    with pytest.raises(ValueError, match="contains NaN"):
        fitted.predict(np.full((2, 5), np.nan))


@both
def test_one_labelled_row_a_class(estimator):
    X, _, truth = table()
    assert (clone(estimator).fit(X, hide(truth, 1)).transduction_ == truth).all()


@both
def test_identical_rows_are_labelled_somehow(estimator):
    fitted = clone(estimator).fit(np.ones((12, 3)), np.array([0, 1] + [-1] * 10))
    assert np.isfinite(fitted.predict_proba(np.ones((2, 3)))).all()

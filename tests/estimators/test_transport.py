from __future__ import annotations

import warnings

import numpy as np
import pytest
from partial_labels import hide, table
from sklearn.base import clone

from fewlabels import TransportLabeler, ot
from fewlabels.estimators.transport import CLUSTERS_A_CLASS


def test_a_row_of_the_pool_is_predicted_as_it_was_labelled():
    X, y, _ = table()
    labeler = TransportLabeler(random_state=0).fit(X, y)
    rest = y < 0
    assert (labeler.predict(X[rest]) == labeler.transduction_[rest]).all()
    assert np.array_equal(labeler.predict_proba(X[rest]), labeler.label_distributions_[rest])


def test_label_distributions_hold_what_is_known():
    X, y, _ = table()
    labeler = TransportLabeler(random_state=0).fit(X, y)
    assert np.allclose(labeler.label_distributions_.sum(1), 1)
    assert np.array_equal(labeler.label_distributions_[y >= 0], np.eye(3)[y[y >= 0]])
    assert labeler.cluster_distributions_.shape == (len(labeler.cluster_centers_), 3)


def test_scale_and_place_of_the_features_do_not_matter():
    X, y, _ = table()
    here = TransportLabeler(random_state=0).fit(X, y)
    there = TransportLabeler(random_state=0).fit(1e4 * X - 1e6, y)
    assert (here.transduction_ == there.transduction_).all()
    assert np.allclose(here.label_distributions_, there.label_distributions_, atol=1e-6)


def test_the_order_of_rows_does_not_matter_where_no_centre_is_drawn():
    X, y, _ = table()
    order = np.random.default_rng(1).permutation(len(X))
    labeler = TransportLabeler(clusters=3)
    assert (labeler.fit(X[order], y[order]).transduction_ == clone(labeler).fit(X, y).transduction_[order]).all()


def test_clusters_are_a_few_a_class_unless_told():
    X, y, _ = table()
    assert len(TransportLabeler(random_state=0).fit(X, y).cluster_centers_) == 3 * CLUSTERS_A_CLASS
    assert len(TransportLabeler(clusters=3).fit(X, y).cluster_centers_) == 3


def test_fewer_rows_than_clusters_are_said_only_to_who_asked():
    X, _, truth = table()
    few = np.concatenate([np.flatnonzero(truth == j)[:2] for j in range(3)])
    y = hide(truth[few], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (TransportLabeler().fit(X[few], y).transduction_ == truth[few]).all()
    with pytest.warns(UserWarning, match="9 clusters were asked of 3 unlabelled rows and 3 hold any"):
        TransportLabeler(clusters=9).fit(X[few], y)


@pytest.mark.parametrize("solver", ["bound", "exact", ot.Sinkhorn(reg=0.05, debiased=True)])
@pytest.mark.parametrize("weights", ["free", "uniform", "prior"])
def test_every_solver_and_every_theta_label_separate_clouds(solver, weights):
    X, y, truth = table(per_class=4)
    assert (TransportLabeler(clusters=3, solver=solver, weights=weights).fit(X, y).transduction_ == truth).all()


def test_the_matching_is_kept():
    X, y, _ = table()
    labeler = TransportLabeler(clusters=3).fit(X, y)
    assert labeler.matching_.cost >= 0
    assert labeler.matching_.collisions == ()

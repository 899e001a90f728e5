from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from problems import blobs, softmax_rows
from torch import Generator

from fewlabels import ot
from fewlabels.errors import Diverged, InputError
from fewlabels.labels import ROT, Argmax, Outputs, SampleToMeasure, SampleToSample, match
from fewlabels.labels.steps import one_hot_spread


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weights", ["free", "uniform", "prior"])
def test_separated_blobs_get_their_labels(seed, weights):
    x_l, y_l, x_u, truth = blobs(seed=seed)
    matching = match(x_l, y_l, x_u, classes=4, weights=weights)
    assert torch.equal(matching.labels, truth)
    assert matching.collisions == ()
    assert matching.empty_classes == ()
    assert matching.note is None
    assert matching.clustering.sizes.tolist() == [30] * 4


def test_renaming_the_classes_renames_the_labels():
    x_l, y_l, x_u, _ = blobs(seed=1, spread=0.2)
    renamed = torch.tensor([2, 3, 1, 0])
    labels = match(x_l, y_l, x_u, classes=4).labels
    assert torch.equal(match(x_l, renamed[y_l], x_u, classes=4).labels, renamed[labels])


def test_the_order_of_rows_does_not_matter():
    x_l, y_l, x_u, _ = blobs(seed=2, spread=0.2)
    rows = torch.randperm(len(x_u), generator=Generator().manual_seed(0))
    assert torch.equal(match(x_l, y_l, x_u[rows], classes=4).labels, match(x_l, y_l, x_u, classes=4).labels[rows])


def test_the_plan_has_the_cluster_shares_in_its_rows_and_the_class_masses_in_its_columns():
    x_l, y_l = softmax_rows(200, seed=3)
    x_u, _ = softmax_rows(300, seed=4)
    matching = match(x_l, y_l, x_u, classes=10)
    alpha = torch.bincount(y_l, minlength=10).double() / 200
    assert torch.allclose(matching.plan.matrix.sum(0), alpha, atol=1e-7)
    assert torch.allclose(matching.plan.matrix.sum(1), matching.clustering.sizes.double() / 300, atol=1e-7)
    assert math.isclose(matching.cost, float((matching.plan.matrix * matching.cost_matrix).sum()))


def test_the_pair_costs_are_the_distances_of_the_clusters_from_the_classes():
    x_l, y_l, x_u, _ = blobs(classes=3, dim=3, labeled=4, unlabeled=6, spread=0.2)
    matching = match(x_l, y_l, x_u, classes=3, solver="exact", order=1, power=2)
    for i in range(3):
        for j in range(3):
            cluster, cloud = x_u[matching.clustering.assignment == i], x_l[y_l == j]
            assert torch.allclose(matching.cost_matrix[i, j], ot.wasserstein(cluster, cloud, 1) ** 2)


def test_soft_labels_are_normalised_rows_of_the_plan():
    x_l, y_l = softmax_rows(100, seed=5)
    x_u, _ = softmax_rows(500, seed=6)
    matching = match(x_l, y_l, x_u, classes=10)
    soft = matching.soft_labels
    assert soft.shape == (500, 10)
    assert soft.dtype == x_u.dtype
    assert torch.allclose(soft.sum(1), torch.ones(500))
    assert torch.equal(soft.argmax(1), matching.labels)
    row = matching.plan.matrix[matching.clustering.assignment[7]]
    assert torch.allclose(soft[7], (row / row.sum()).float())


def test_a_class_prior_reassigns_what_equal_masses_cannot():
    # Two classes at 0 and 1; nine in ten unlabelled rows are of class 0 in two lumps, one of them nearer to class 1.
    x_l, y_l = torch.tensor([[0.0], [1.0]]), torch.tensor([0, 1])
    x_u = torch.tensor([[0.0]] * 45 + [[0.6]] * 45 + [[1.0]] * 10)
    truth = torch.tensor([0] * 90 + [1] * 10)
    equal = match(x_l, y_l, x_u, classes=2, clusters=3, reg=0.05, generator=Generator().manual_seed(0))
    told = match(
        x_l, y_l, x_u, classes=2, clusters=3, reg=0.05, class_prior=(0.9, 0.1), generator=Generator().manual_seed(0)
    )
    assert not torch.equal(equal.labels, truth)
    assert torch.equal(told.labels, truth)
    assert told.collisions == (tuple((told.cluster_labels == 0).nonzero().flatten().tolist()),)


def test_more_clusters_than_classes():
    x_l, y_l, x_u, truth = blobs(seed=3)
    matching = match(x_l, y_l, x_u, classes=4, clusters=9, generator=Generator().manual_seed(1))
    assert len(matching.clustering.centers) == 9
    assert torch.equal(matching.labels, truth)
    assert matching.collisions


def test_one_labelled_row_a_class():
    x_l, y_l, x_u, truth = blobs(labeled=1)
    assert torch.equal(match(x_l, y_l, x_u, classes=4).labels, truth)


def test_identical_outputs_are_labelled_and_say_which_classes_stay_empty():
    same = torch.full((6, 3), 1 / 3)
    matching = match(same[:3], torch.arange(3), same, classes=3)
    assert matching.empty_classes == (1, 2)
    assert matching.note == "3 clusters were asked of 6 unlabelled rows and 1 holds any"
    assert torch.isfinite(matching.soft_labels).all()


def test_one_hot_duplicates():
    y_u = torch.arange(10).repeat(20)
    matching = match(torch.eye(10).repeat(3, 1), torch.arange(10).repeat(3), torch.eye(10)[y_u], classes=10)
    assert torch.equal(matching.labels, y_u)
    assert matching.cost == pytest.approx(0.0, abs=0.05)


def test_fewer_unlabelled_rows_than_clusters():
    matching = match(torch.eye(4), torch.arange(4), torch.eye(4)[[2, 0]], classes=4, reg=0.1)
    assert matching.labels.tolist() == [2, 0]
    assert matching.note == "4 clusters were asked of 2 unlabelled rows and 2 hold any"
    one = match(torch.eye(4), torch.arange(4), torch.eye(4)[[2]], classes=4, reg=0.1)
    assert one.note == "4 clusters were asked of 1 unlabelled row and 1 holds any"


def test_an_empty_cluster_takes_no_label_from_the_others():
    x_u = torch.eye(4)[[0, 0, 1, 1, 2, 2]]  # no row near class 3
    matching = match(torch.eye(4), torch.arange(4), x_u, classes=4)
    assert matching.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert matching.empty_classes == (3,)
    assert len(matching.plan.matrix) == 3


def test_a_sinkhorn_solver_for_the_pairs():
    x_l, y_l, x_u, truth = blobs()
    matching = match(x_l, y_l, x_u, classes=4, solver=ot.Sinkhorn(reg=0.05, debiased=True))
    assert torch.equal(matching.labels, truth)


def test_features_are_scaled_to_the_spread_of_one_hot_rows():
    x_l, y_l, x_u, truth = blobs(seed=4)
    a, b = one_hot_spread(1000 * x_l - 300, 1000 * x_u - 300, torch.full((4,), 0.25, dtype=torch.float64))
    rows = torch.cat([a, b])
    assert rows.var(0, correction=0).sum().item() == pytest.approx(0.75)
    assert torch.equal(match(1000 * x_l, y_l, 1000 * x_u, classes=4, scale=True).labels, truth)
    scaled, large = (match(f * x_l, y_l, f * x_u, classes=4, scale=True) for f in (1, 1000))
    assert torch.allclose(scaled.cost_matrix, large.cost_matrix)


@pytest.mark.parametrize(
    ("dtype", "factor"),
    [(torch.float32, 1e-30), (torch.float32, 1e30), (torch.float64, 1e-300), (torch.float64, 1e300)],
)
def test_no_scale_of_the_features_is_too_small_or_too_large(dtype, factor):
    x_l, y_l, x_u, truth = blobs(seed=4)
    usual = match(x_l, y_l, x_u, classes=4, scale=True)
    far = match((factor * x_l).to(dtype), y_l, (factor * x_u).to(dtype), classes=4, scale=True)
    assert torch.equal(far.labels, truth)
    assert torch.allclose(far.cost_matrix, usual.cost_matrix, rtol=1e-4, atol=1e-5)


def test_the_labeler_is_match_behind_a_labeler_s_face():
    x_l, y_l, x_u, truth = blobs()
    hard = ROT()(Outputs(x_l, y_l, x_u, 4), Generator())
    soft = ROT(soft=True)(Outputs(x_l, y_l, 50 * x_u, 4, features=True), Generator())
    assert torch.equal(hard.labels, truth)
    assert hard.soft is None
    assert hard.matching is not None
    assert soft.soft is not None
    assert torch.equal(soft.soft.argmax(1), soft.labels)


def test_bad_input_is_refused_in_a_sentence():
    x_l, y_l, x_u, _ = blobs()
    with pytest.raises(InputError, match="1 of 4 classes came without a labelled row \\(3\\)"):
        match(x_l[y_l < 3], y_l[y_l < 3], x_u, classes=4)
    with pytest.raises(InputError, match=r"class_prior sums to 1\.2"):
        match(x_l, y_l, x_u, classes=4, class_prior=(0.3, 0.3, 0.3, 0.3))
    with pytest.raises(InputError, match="class_prior has 3 entries and there are 4"):
        match(x_l, y_l, x_u, classes=4, class_prior=(0.3, 0.3, 0.4))
    with pytest.raises(InputError, match="sum to 1 without negative entries"):
        match(x_l, y_l, x_u, classes=4, class_prior=(0.5, 0.6, -0.2, 0.1))
    with pytest.raises(InputError, match="0 unlabelled rows"):
        match(x_l, y_l, x_u[:0], classes=4)
    with pytest.raises(InputError, match=r"labels run from 0 to 3 and must lie in 0 \.\. 2"):
        match(x_l, y_l, x_u, classes=3)
    with pytest.raises(InputError, match="3 clusters for 4 classes"):
        match(x_l, y_l, x_u, classes=4, clusters=3)
    with pytest.raises(InputError, match="weights='prior' gives the mass of each of 4 classes"):
        match(x_l, y_l, x_u, classes=4, clusters=6, weights="prior")
    with pytest.raises(InputError, match="classes is 0 and at least 1 is needed"):
        match(x_l[:0], y_l[:0], x_u, classes=0)
    with pytest.raises(Diverged, match=r"2 of 120 unlabelled outputs are not finite: .* or leave such rows out$"):
        match(x_l, y_l, x_u.index_fill(0, torch.tensor([0, 5]), torch.nan), classes=4)
    with pytest.raises(Diverged, match="1 of 20 labelled outputs"):
        match(x_l.index_fill(0, torch.tensor([3]), torch.inf), y_l, x_u, classes=4)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x_l": np.eye(4)}, r"x_l is a ndarray of float64 and shape \(4, 4\): give a tensor of rows and columns"),
        ({"x_u": [[0.0] * 4]}, "x_u is of type list: give a tensor"),
        ({"x_l": torch.eye(4).long()}, r"x_l is a Tensor of torch.int64 and shape \(4, 4\): .* torch.float32 or"),
        ({"x_u": torch.eye(4).half()}, "x_u is a Tensor of torch.float16"),
        ({"x_u": torch.ones(4)}, r"x_u is a Tensor of torch.float32 and shape \(4,\): give a tensor of rows"),
        ({"x_l": torch.ones(4, 0)}, r"shape \(4, 0\): give a tensor of rows and columns"),
        ({"x_u": torch.ones(2, 3)}, "x_l has 4 columns of torch.float32 on cpu and x_u has 3 columns"),
        ({"x_u": torch.ones(2, 4).double()}, "and x_u has 4 columns of torch.float64 on cpu: give both the same"),
        ({"y_l": torch.arange(3)}, r"y_l is a Tensor of torch.int64 and shape \(3,\) and x_l has 4 rows: give"),
        ({"y_l": torch.arange(5)}, r"shape \(5,\) and x_l has 4 rows"),
        ({"y_l": torch.arange(4.0)}, "y_l is a Tensor of torch.float32 .* of type torch.int64"),
        ({"y_l": [0, 1, 2, 3]}, "y_l is of type list"),
    ],
)
def test_rows_of_the_wrong_kind_are_refused_by_every_labeler(change, message):
    x_l, y_l, x_u = ({"x_l": torch.eye(4), "y_l": torch.arange(4), "x_u": torch.eye(4)} | change).values()
    with pytest.raises(InputError, match=message):
        match(x_l, y_l, x_u, classes=4)
    for labeler in (ROT(), SampleToSample(), SampleToMeasure(), SampleToMeasure(1), Argmax()):
        with pytest.raises(InputError, match=message):
            labeler(Outputs(x_l, y_l, x_u, 4), Generator())


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"clusters": 4.5}, "clusters is 4.5: give a whole number"),
        ({"clusters": "6"}, "clusters is '6': give a whole number"),
        ({"clusters": -1}, "clusters is -1: give a whole number of at least 1"),
        ({"reg": 0.0}, "reg is 0.0"),
        ({"reg": "x"}, "reg is 'x' and"),
        ({"order": 0.5, "solver": "exact"}, "order is 0.5"),
        ({"order": math.inf, "solver": "exact"}, "order is inf and W_k needs a finite k >= 1"),
        ({"order": "2"}, "order is '2'"),
        ({"power": 0.0}, "power is 0.0"),
        ({"power": None}, "power is None"),
        ({"weights": "even"}, "weights is 'even'"),
        ({"solver": "fast"}, "solver is 'fast'"),
        ({"solver": 3}, "solver is 3: choose bound, exact or an ot.Sinkhorn"),
        ({"order": 1}, "solver='bound' bounds W_k for k >= 2 and order is 1"),
    ],
)
def test_options_out_of_range_are_refused(option, message):
    with pytest.raises(InputError, match=message):
        ROT(**option)
    with pytest.raises(InputError, match=message):
        match(torch.eye(4), torch.arange(4), torch.eye(4), classes=4, **option)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("prior", ["uniform", {0: 0.5, 1: 0.5}, (0.5, "a"), ((0.5,), 0.5)])
def test_a_prior_that_is_not_numbers_is_refused(prior):
    with pytest.raises(InputError, match=r"class_prior is .*: give one mass a class, in the order of the classes"):
        match(torch.eye(2), torch.arange(2), torch.eye(2), classes=2, class_prior=prior)

"""Algorithm 1 in closed form: against scikit-learn and the literal algorithm, and the laws it obeys."""

from __future__ import annotations

import math

import pytest
import torch
from clouds_for_ot import CHEAP, lumps, points, weights
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from torch import Generator

from fewlabels import ot

FORMS = [(0.0, "free"), (0.05, "free"), (0.0, "uniform"), (0.05, "uniform")]


@pytest.mark.parametrize("seed", range(6))
def test_lloyd_is_scikit_learns(seed):
    x, init = points(500, 5, seed), points(8, 5, 100 + seed)
    found = ot.barycenter_clusters(x, 8, init=init, tol=0)
    other = KMeans(8, init=init.numpy(), n_init=1, tol=0, algorithm="lloyd").fit(x.numpy())
    assert found.converged
    assert found.assignment.tolist() == other.labels_.tolist()
    assert found.objective == pytest.approx(other.inertia_ / 500, rel=1e-10)
    assert torch.allclose(found.centers, torch.from_numpy(other.cluster_centers_))


def test_weighted_lloyd_is_scikit_learns():
    x, init, b = points(200, 3, 1), points(5, 3, 2), weights(200, 3)
    found = ot.barycenter_clusters(x, 5, init=init, b=b, tol=0)
    other = KMeans(5, init=init.numpy(), n_init=1, tol=0).fit(x.numpy(), sample_weight=b.numpy())
    assert found.objective == pytest.approx(other.inertia_, rel=1e-10)
    assert torch.allclose(found.weights, torch.bincount(found.assignment, weights=b, minlength=5))


@pytest.mark.parametrize(("reg", "theta"), FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_separated_lumps_are_found(reg, theta, dtype):
    x, truth, corners = lumps(dtype=dtype)
    found = ot.barycenter_clusters(x, 3, reg=reg, weights=theta, init=corners)
    assert found.converged
    assert torch.equal(found.assignment, truth)
    assert found.centers.dtype == found.weights.dtype == dtype
    assert torch.allclose(found.weights, torch.full((3,), 1 / 3, dtype=dtype), atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("reg", "theta"), [*FORMS, (1e-30, "free"), (5.0, "free")])
def test_no_iteration_raises_the_objective(reg, theta, dtype):
    x, init = points(120, 3, 5, dtype), points(6, 3, 6, dtype)
    found = ot.barycenter_clusters(x, 6, reg=reg, weights=theta, init=init, tol=0)
    assert found.iterations == len(found.objectives) >= 2
    assert list(found.objectives) == sorted(found.objectives, reverse=True)


@pytest.mark.parametrize(("reg", "theta"), FORMS)
def test_the_result_belongs_together(reg, theta):
    """The reported objective is that of the plan between the reported centres and weights."""
    x, init, b = points(60, 3, 7), points(4, 3, 8), weights(60, 9)
    found = ot.barycenter_clusters(x, 4, reg=reg, weights=theta, init=init, b=b)
    M = ot.distance_cost(found.centers, x)
    plan = ot.exact(M, found.weights, b) if reg == 0 else ot.sinkhorn(M, found.weights, b, reg=reg)
    assert float(plan.objective) == pytest.approx(found.objective, abs=1e-7)
    assert torch.equal(plan.matrix.argmax(0), found.assignment)


def test_the_free_plan_is_a_softmax_and_its_objective_a_log_sum():
    x, init, b, reg = points(50, 3, 10), points(4, 3, 11), weights(50, 12), 0.3
    found = ot.barycenter_clusters(x, 4, reg=reg, init=init, b=b)
    M = ot.distance_cost(found.centers, x)
    T = b * (-M / reg).softmax(0)
    assert torch.allclose(found.weights, T.sum(1))
    assert found.objective == pytest.approx(float((T * M).sum() + reg * (T * (T.log() - 1)).sum()))
    assert torch.equal(found.assignment, M.argmin(0))


def test_no_weights_do_better_than_the_free_ones():
    x, init = points(40, 2, 13), points(3, 2, 14)
    found = ot.barycenter_clusters(x, 3, reg=0.2, init=init)
    M, b = ot.distance_cost(found.centers, x), torch.full((40,), 1 / 40, dtype=torch.float64)
    for seed in range(20):
        other = 0.9 * found.weights + 0.1 * weights(3, seed)
        assert float(ot.sinkhorn(M, other, b, reg=0.2).objective) > found.objective


def test_reg_to_zero_meets_lloyd_and_reg_to_infinity_one_centre():
    x, init = points(100, 3, 15), points(5, 3, 16)
    lloyd = ot.barycenter_clusters(x, 5, init=init, tol=0)
    cold = ot.barycenter_clusters(x, 5, init=init, reg=1e-9, tol=0)
    assert torch.equal(cold.assignment, lloyd.assignment)
    assert torch.allclose(cold.centers, lloyd.centers)
    hot = ot.barycenter_clusters(x, 5, init=init, reg=1e6)
    assert torch.allclose(hot.centers, x.mean(0).expand(5, 3), atol=1e-4)
    assert torch.allclose(hot.weights, torch.full((5,), 0.2, dtype=torch.float64), atol=1e-5)


@pytest.mark.parametrize(("reg", "theta"), FORMS)
def test_moving_turning_scaling_and_reordering(reg, theta):
    x, init = points(80, 3, 17), points(4, 3, 18)
    base = ot.barycenter_clusters(x, 4, reg=reg, weights=theta, init=init)
    shift = torch.tensor([1e4, -3.0, 7.0], dtype=torch.float64)
    moved = ot.barycenter_clusters(x + shift, 4, reg=reg, weights=theta, init=init + shift)
    assert torch.equal(moved.assignment, base.assignment)
    assert torch.allclose(moved.centers, base.centers + shift)
    turn = torch.linalg.qr(points(3, 3, 19)).Q
    turned = ot.barycenter_clusters(x @ turn, 4, reg=reg, weights=theta, init=init @ turn)
    assert torch.allclose(turned.centers, base.centers @ turn)
    grown = ot.barycenter_clusters(10 * x, 4, reg=100 * reg, weights=theta, init=10 * init)
    assert torch.equal(grown.assignment, base.assignment)
    assert torch.allclose(grown.centers, 10 * base.centers)
    rows, names = torch.randperm(80, generator=Generator().manual_seed(0)), torch.tensor([2, 0, 3, 1])
    mixed = ot.barycenter_clusters(x[rows], 4, reg=reg, weights=theta, init=init[names])
    assert torch.allclose(mixed.centers, base.centers[names])
    assert torch.equal(names[mixed.assignment], base.assignment[rows])


@pytest.mark.parametrize(("reg", "theta"), [(0.0, "free"), (0.05, "free"), (0.05, "uniform")])
def test_a_weight_counts_copies(reg, theta):
    x, init, copies = points(30, 2, 20), points(3, 2, 21), torch.arange(30) % 3 + 1
    whole = ot.barycenter_clusters(x.repeat_interleave(copies, 0), 3, reg=reg, weights=theta, init=init, tol=0)
    weighed = ot.barycenter_clusters(x, 3, reg=reg, weights=theta, init=init, b=copies.double(), tol=0)
    assert torch.allclose(weighed.centers, whole.centers, atol=1e-6)
    assert torch.allclose(weighed.weights, whole.weights, atol=1e-6)


@pytest.mark.parametrize("reg", [0.0, 1e-3])
def test_an_empty_cluster_keeps_its_centre_and_has_no_weight(reg):
    x, _, corners = lumps(2, 10, d=3)
    far = torch.tensor([[50.0, 50.0, 50.0]], dtype=torch.float64)
    found = ot.barycenter_clusters(x, 3, reg=reg, init=torch.cat([corners, far]))
    assert torch.equal(found.centers[2:], far)
    assert found.weights[2] == 0
    assert found.sizes.tolist() == [10, 10, 0]


@pytest.mark.parametrize("reg", [0.0, 0.05])
def test_a_prior_of_zero_leaves_a_cluster_out(reg):
    x, _, corners = lumps(2, 10, d=3)
    prior = torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64)
    init = torch.cat([corners, x[:1]])
    found = ot.barycenter_clusters(x, 3, reg=reg, weights=prior, init=init)
    assert torch.allclose(found.centers[2], x[0])
    assert found.sizes.tolist() == [10, 10, 0]
    assert torch.allclose(found.weights, prior)


@pytest.mark.parametrize(("reg", "theta"), FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_hot_duplicates(reg, theta, dtype):
    truth = torch.arange(5).repeat(40)
    found = ot.barycenter_clusters(
        torch.eye(5, dtype=dtype)[truth], 5, reg=reg, weights=theta, init=torch.eye(5, dtype=dtype)
    )
    assert torch.equal(found.assignment, truth)
    if reg == 0:
        assert found.objective == pytest.approx(0, abs=1e-6)
    assert torch.isfinite(found.centers).all()


@pytest.mark.parametrize(("reg", "theta"), FORMS)
def test_points_that_are_all_one(reg, theta):
    found = ot.barycenter_clusters(
        torch.full((12, 3), 1 / 3), 4, reg=reg, weights=theta, generator=Generator().manual_seed(0)
    )
    assert torch.allclose(found.centers, torch.full((4, 3), 1 / 3))
    assert torch.isfinite(found.weights).all()
    assert found.converged


@CHEAP
@given(seed=st.integers(0, 10**6), n=st.integers(1, 20), data=st.data())
def test_any_cloud_gives_a_clustering(seed, n, data):
    k = data.draw(st.integers(1, n))
    x = points(n, 2, seed)
    x = x.round() if data.draw(st.booleans()) else x
    for reg, theta in FORMS:
        found = ot.barycenter_clusters(x, k, reg=reg, weights=theta, generator=Generator().manual_seed(seed))
        assert float(found.weights.sum()) == pytest.approx(1)
        assert torch.isfinite(found.centers).all()
        assert list(found.objectives) == sorted(found.objectives, reverse=True)
        assert 0 <= int(found.assignment.min()) <= int(found.assignment.max()) < k


def test_blocks_do_not_show(monkeypatch):
    x, init = points(300, 4, 22), points(6, 4, 23)
    whole = [ot.barycenter_clusters(x, 6, reg=reg, init=init, tol=0) for reg in (0.0, 0.1)]
    monkeypatch.setattr("fewlabels.ot.coupling._BLOCK", {"cpu": 6 * 7})
    for one, reg in zip(whole, (0.0, 0.1), strict=True):
        parts = ot.barycenter_clusters(x, 6, reg=reg, init=init, tol=0)
        assert torch.equal(parts.assignment, one.assignment)
        assert torch.allclose(parts.centers, one.centers)


def test_a_start_that_stops_early_says_so():
    x, init = points(300, 4, 24), points(8, 4, 25)
    found = ot.barycenter_clusters(x, 8, init=init, tol=0, max_iter=2)
    assert not found.converged
    assert found.iterations == 2


def test_k_means_plus_plus_goes_where_there_are_points():
    x, truth, corners = lumps(6, 10, d=6, spread=0.01)
    for seed in range(10):
        found = ot.barycenter_clusters(x, 6, init=corners[:2], generator=Generator().manual_seed(seed))
        assert found.sizes.tolist() == [10] * 6
        assert torch.equal(found.assignment[truth < 2], truth[truth < 2])
        again = ot.barycenter_clusters(x, 6, init=corners[:2], generator=Generator().manual_seed(seed))
        assert torch.equal(again.assignment, found.assignment)
    assert ot.barycenter_clusters(x, 6).converged


def test_a_few_points_of_all_may_have_the_whole_mass():
    """The exact balanced form begins with a sample, and none of it may have mass."""
    held = torch.randperm(100, generator=Generator().manual_seed(0))[-2:]
    x, b = points(100, 2, 26), torch.zeros(100).double()
    b[held] = 0.5
    found = ot.barycenter_clusters(x, 2, weights="uniform", b=b, init=x[held])
    assert torch.allclose(found.centers, x[held])
    assert found.objective == pytest.approx(0, abs=1e-12)


def test_points_without_weight_start_no_cluster():
    x = torch.tensor([[0.0], [1.0], [100.0], [101.0]])
    b = torch.tensor([0.5, 0.5, 0.0, 0.0])
    found = ot.barycenter_clusters(x, 2, b=b, generator=Generator().manual_seed(0))
    assert sorted(found.centers.flatten().tolist()) == [0, 1]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"k": 0}, "0 clusters of 6 points: ask for 1 to 6"),
        ({"k": 7}, "7 clusters of 6 points"),
        ({"weights": "even"}, "weights is 'even'"),
        ({"weights": torch.tensor([0.7, 0.7])}, r"weights sums to 1\.4"),
        ({"weights": torch.tensor([0.5, 0.25, 0.25])}, "weights has shape"),
        ({"weights": torch.tensor([1.5, -0.5])}, "weights spans -0.5 to 1.5"),
        ({"weights": torch.tensor([0.5, 0.5]).double()}, "float64"),
        ({"b": torch.ones(5)}, r"b has shape \(5,\) for 6 points"),
        ({"init": torch.zeros(3, 2)}, r"init has shape \(3, 2\) for 2 centres of dimension 2"),
        ({"init": torch.zeros(1, 3)}, "of dimension 2"),
        ({"init": torch.full((1, 2), math.nan)}, "init has coordinates that are not finite"),
        ({"init": torch.zeros(1, 2).double()}, "float64"),
        ({"reg": -1.0}, "reg is -1"),
        ({"reg": math.inf}, "reg is inf"),
        ({"reg": 1e-60}, "reg is 1e-60"),
        ({"tol": -1.0}, "tol is -1"),
        ({"max_iter": 0}, "max_iter 0"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_input_is_refused_in_a_sentence(option, message):
    with pytest.raises(ValueError, match=message):
        ot.barycenter_clusters(points(6, 2, 0, torch.float32), **{"k": 2, **option})


@pytest.mark.usefixtures("unchecked")
def test_points_must_be_finite_and_there():
    with pytest.raises(ValueError, match="at least one point"):
        ot.barycenter_clusters(torch.zeros(0, 2), 1)
    with pytest.raises(ValueError, match="not finite"):
        ot.barycenter_clusters(torch.tensor([[math.inf], [0.0]]), 1)

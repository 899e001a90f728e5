"""Eq. (4): the barycentre of several measures, in its places and its masses."""

from __future__ import annotations

import math

import ot as pot
import pytest
import torch
from clouds_for_ot import CHEAP, lumps, points, weights
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator

from fewlabels import ot
from fewlabels.ot.joint import joint_exact, joint_sinkhorn

FORMS = [(0.0, "uniform"), (0.2, "uniform"), (0.0, "free"), (0.2, "free")]


def even(n: int) -> torch.Tensor:
    return torch.full((n,), 1 / n, dtype=torch.float64)


def test_on_a_line_it_is_the_mean_of_the_quantiles():
    clouds = [points(7, 1, seed) * (1 + seed) for seed in range(3)]
    w = weights(3, 4)
    found = ot.free_support_barycenter(clouds, w, torch.linspace(-1, 1, 7).double()[:, None], tol=0)
    quantiles = torch.stack([cloud.sort(0).values for cloud in clouds])
    assert torch.allclose(found.centers, (w[:, None, None] * quantiles).sum(0))
    assert found.converged
    assert len(found.assignment) == 21


def test_diracs_meet_at_their_mean():
    clouds, w = list(points(4, 3, 5).split(1)), weights(4, 6)
    found = ot.free_support_barycenter(clouds, w, 1, generator=Generator().manual_seed(0))
    assert torch.allclose(found.centers[0], w @ torch.cat(clouds))


def test_of_translates_it_is_the_translate_by_the_mean():
    x, shifts = points(6, 2, 7), 5 * points(3, 2, 8)
    found = ot.free_support_barycenter([x + shift for shift in shifts], None, x)
    assert torch.allclose(found.centers, x + shifts.mean(0))


@pytest.mark.parametrize(("reg", "theta"), FORMS)
def test_of_one_measure_it_is_algorithm_1(reg, theta):
    x, init, b = points(24, 2, 9), points(3, 2, 10), weights(24, 11)
    found = ot.free_support_barycenter([x], None, init, reg=reg, support_weights=theta, b=[b], tol=1e-9)
    clusters = ot.barycenter_clusters(x, 3, reg=reg, weights=theta, init=init, b=b, tol=1e-9)
    assert found.objective == pytest.approx(clusters.objective, rel=1e-6)
    assert torch.allclose(found.centers, clusters.centers, atol=1e-4)
    assert torch.allclose(found.weights, clusters.weights, atol=1e-4)
    assert torch.equal(found.assignment, clusters.assignment)


def test_it_is_pots():
    clouds, b, w = [points(9, 2, 12), points(7, 2, 13) + 1], [weights(9, 14), weights(7, 15)], weights(2, 16)
    start = points(4, 2, 17)
    other = pot.lp.free_support_barycenter(
        [cloud.numpy() for cloud in clouds],
        [share.numpy() for share in b],
        start.numpy(),
        weights=w.numpy(),
        numItermax=200,
    )
    found = ot.free_support_barycenter(clouds, w, start, b=b, tol=0)
    assert torch.allclose(found.centers, torch.from_numpy(other), atol=1e-6)


@CHEAP
@given(st.integers(0, 10**5), st.sampled_from(FORMS), st.integers(1, 4))
def test_every_iteration_lowers_the_objective(seed, form, k):
    reg, theta = form
    clouds = [points(3 + (seed + i) % 4, 2, seed + i) for i in range(3)]
    found = ot.free_support_barycenter(
        clouds, None, k, reg=reg, support_weights=theta, generator=Generator().manual_seed(seed)
    )
    assert list(found.objectives) == sorted(found.objectives, reverse=True)
    assert float(found.weights.sum()) == pytest.approx(1)
    assert float(found.weights.min()) >= 0
    assert torch.isfinite(found.centers).all()


def test_the_objective_is_the_weighted_mean_of_the_powers():
    clouds, w = [points(6, 2, 18), points(5, 2, 19)], weights(2, 20)
    found = ot.free_support_barycenter(clouds, w, 3, generator=Generator().manual_seed(0))
    powers = [float(ot.wasserstein(found.centers, cloud, a=found.weights)) ** 2 for cloud in clouds]
    assert found.objective == pytest.approx(float(w[0]) * powers[0] + float(w[1]) * powers[1])


def test_free_masses_do_no_worse_and_find_unequal_lumps():
    x, _, corners = lumps(2, 10, d=2)
    start = corners[:, :2].double()
    order = (x[:, 0] > x[:, 1]).long().argsort()
    cloud = x[order][:16]  # ten of one lump and six of the other
    held = ot.free_support_barycenter([cloud, cloud], None, start)
    free = ot.free_support_barycenter([cloud, cloud], None, start, support_weights="free")
    assert free.objective < held.objective
    assert sorted(free.weights.tolist()) == pytest.approx([6 / 16, 10 / 16])


def test_given_masses_are_kept_and_a_point_without_mass_its_place():
    clouds, start = [points(6, 2, 21), points(5, 2, 22)], points(3, 2, 23)
    a = torch.tensor([3.0, 0.0, 1.0]).double()
    for reg in (0.0, 0.3):
        found = ot.free_support_barycenter(clouds, None, start, support_weights=a, reg=reg)
        assert torch.allclose(found.weights, a / 4)
        assert torch.allclose(found.centers[1], start[1])


@pytest.mark.parametrize(("reg", "theta"), FORMS)
def test_moving_scaling_and_points_without_mass(reg, theta):
    clouds, start = [points(6, 2, 24), points(5, 2, 25)], points(3, 2, 26)
    base = ot.free_support_barycenter(clouds, None, start, reg=reg, support_weights=theta)
    moved = ot.free_support_barycenter(
        [10 * cloud + 1e3 for cloud in clouds], None, 10 * start + 1e3, reg=100 * reg, support_weights=theta
    )
    assert torch.allclose(moved.centers, 10 * base.centers + 1e3, atol=1e-3)
    more = [torch.cat([clouds[0], torch.tensor([[50.0, 50.0]]).double()]), clouds[1]]
    b = [torch.cat([even(6), torch.zeros(1).double()]), even(5)]
    same = ot.free_support_barycenter(more, None, start, reg=reg, support_weights=theta, b=b)
    assert torch.allclose(same.centers, base.centers, atol=1e-5)


def test_float32_comes_back_as_float32():
    found = ot.free_support_barycenter([points(5, 2, 27, torch.float32)], None, 2, generator=Generator().manual_seed(0))
    assert found.centers.dtype == found.weights.dtype == torch.float32


def test_a_stop_before_the_end_says_so():
    clouds = [points(12, 2, 28), points(12, 2, 29)]
    found = ot.free_support_barycenter(clouds, None, points(4, 2, 30), tol=0, max_iter=1)
    assert not found.converged


def test_joint_couplings_share_their_rows_and_reg_to_0_meets_the_linear_program():
    costs = [points(3, 5, 31).square(), points(3, 4, 32).square()]
    masses, w = [weights(5, 33), weights(4, 34)], weights(2, 35)
    exact = joint_exact(costs, masses, w)
    soft = joint_sinkhorn(costs, masses, w, 0.02)
    for plans in (exact, soft):
        assert torch.allclose(plans[0].sum(1), plans[1].sum(1), atol=1e-8)
        for T, b in zip(plans, masses, strict=True):
            assert torch.allclose(T.sum(0), b, atol=1e-8)
            assert float(T.min()) >= -1e-12
    value = [sum(float(v * (T * M).sum()) for v, T, M in zip(w, plans, costs, strict=True)) for plans in (exact, soft)]
    assert value[0] <= value[1] <= value[0] + 0.05


def test_joint_couplings_that_do_not_converge_are_an_error():
    costs = [points(3, 5, 36).square(), points(3, 4, 37).square()]
    with pytest.raises(
        ot.NotConverged, match=r"2 couplings stopped at 3 iterations with marginal error .*raise reg \(now 0.001"
    ):
        joint_sinkhorn(costs, [even(5), even(4)], even(2), 1e-3, max_iter=3)


def test_a_linear_program_without_a_solution_is_an_error():
    with pytest.raises(ot.NotConverged, match=r"the linear program of 18 entries stopped: .*take reg > 0"):
        joint_exact([torch.ones(3, 3).double(), torch.ones(3, 2).double()], [even(3), 2 * even(2)], even(2))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measures": []}, "0 clouds: give at least one"),
        ({"measures": [torch.zeros(0, 2)]}, r"cloud 0 has shape \(0, 2\)"),
        ({"measures": [torch.eye(2), torch.eye(3)]}, "cloud 0 has dimension 2 and cloud 1 3"),
        ({"measures": [torch.full((1, 2), math.nan)] * 2}, "cloud 0 has coordinates that are not finite: 2"),
        ({"weights": torch.ones(3)}, r"weights has shape \(3,\) for 2 points"),
        ({"weights": torch.tensor([1.0, -1.0])}, "weights spans -1 to 1"),
        ({"support": 0}, "0 support points of 5 points: ask for 1 to 5"),
        ({"support": 6}, "6 support points of 5 points"),
        ({"support": torch.zeros(0, 2)}, r"support has shape \(0, 2\)"),
        ({"support": torch.zeros(2, 3)}, "support has dimension 3 and cloud 0 2"),
        ({"support_weights": "even"}, "support_weights is 'even': give 'uniform', 'free' or a tensor of 2 masses"),
        ({"support_weights": torch.ones(3)}, r"support_weights has shape \(3,\) for 2 points"),
        ({"b": [torch.ones(2)]}, "1 weight vectors for 2 clouds"),
        ({"b": [torch.ones(2), torch.zeros(3)]}, "weights of cloud 1 is 0 at all 3 points"),
        ({"reg": -0.1}, "reg is -0.1"),
        ({"reg": math.inf}, "reg is inf"),
        ({"reg": math.nan}, "reg is nan"),
        ({"tol": -1.0}, "tol is -1"),
        ({"max_iter": 0}, "max_iter 0"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change, message):
    good = {"measures": [torch.eye(2), torch.ones(3, 2)], "weights": None, "support": 2}
    with pytest.raises(ValueError, match=message):
        ot.free_support_barycenter(**{**good, **change})

"""Eq. (3) and (9): the entropic plan against closed forms, other solvers and the laws of transport."""

from __future__ import annotations

import math

import ot as pot
import pytest
import torch
from clouds_for_ot import CHEAP, check_plan, points, problem, weights
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator

from fewlabels import ot

SHAPES = [(1, 1), (1, 7), (6, 1), (5, 8), (30, 20), (4, 60)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reg", [10.0, 0.05, 1e-3])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_potentials_prove_the_plan(shape, reg, dtype):
    cost, a, b = problem(*shape, 0, dtype)
    plan = ot.sinkhorn(cost, a, b, reg=reg)
    check_plan(plan, a, b, atol=1e-7 if dtype == torch.float64 else 1e-5)
    assert plan.matrix.dtype == plan.potentials[0].dtype == dtype
    off = float((plan.matrix.sum(1) - a).abs().sum() + (plan.matrix.sum(0) - b).abs().sum())
    assert plan.marginal_error == pytest.approx(off, abs=1e-9 if dtype == torch.float64 else 2e-6)
    assert plan.iterations <= 10_000


@st.composite
def hard_problems(draw):
    """Weights of 0, duplicates, and costs and masses of six orders of magnitude."""
    n, m, seed = draw(st.integers(1, 12)), draw(st.integers(1, 12)), draw(st.integers(0, 10**6))
    cost, a, b = problem(n, m, seed)
    if draw(st.booleans()):
        cost = 10 ** (6 * cost - 6)
    if draw(st.booleans()):
        a, b = 10 ** (6 * a / a.max() - 6), 10 ** (6 * b / b.max() - 6)
    if draw(st.booleans()):
        a[: n - 1 : 2] = 0
        b[1::3] = 0
    if draw(st.booleans()):
        cost[n // 2 :] = cost[0].clone()
    return cost, a / a.sum(), b / b.sum(), 10.0 ** draw(st.integers(-4, 1))


@CHEAP
@given(hard_problems())
def test_hard_problems_are_solved(hard):
    cost, a, b, reg = hard
    plan = ot.sinkhorn(cost, a, b, reg=reg)
    check_plan(plan, a, b)
    assert not plan.matrix[a == 0].any()
    assert not plan.matrix[:, b == 0].any()
    assert float(plan.cost) >= float(ot.exact(cost, a, b).cost) - 1e-7


def test_two_by_two_is_a_logistic():
    half = torch.tensor([0.5, 0.5], dtype=torch.float64)
    for reg in (2.0, 0.3, 0.01):
        plan = ot.sinkhorn(1 - torch.eye(2, dtype=torch.float64), half, half, reg=reg)
        assert float(plan.matrix[0, 0]) == pytest.approx(0.5 / (1 + math.exp(-1 / reg)), abs=1e-8)
        assert float(plan.entropy) == pytest.approx(-float((plan.matrix * (plan.matrix.log() - 1)).sum()))
        assert float(plan.objective) == pytest.approx(float(plan.cost) - reg * float(plan.entropy))


@pytest.mark.parametrize("reg", [0.2, 1.0, 5.0])
def test_gaussians_have_a_gaussian_plan(reg):
    """With covariances s^2 and t^2 the plan's own is ((reg^2 / 4 + 4 s^2 t^2)^(1/2) - reg / 2) / 2."""
    x = torch.linspace(-8, 8, 161, dtype=torch.float64)
    s, t, mean = 1.0, 0.6, 0.7
    a, b = (-x.square() / (2 * s**2)).softmax(0), (-(x - mean).square() / (2 * t**2)).softmax(0)
    T = ot.sinkhorn((x[:, None] - x).square(), a, b, reg=reg).matrix
    cross = float(x @ T @ (x - mean))
    assert cross == pytest.approx((math.sqrt(reg**2 / 4 + 4 * s**2 * t**2) - reg / 2) / 2, abs=1e-6)


def test_reg_to_infinity_meets_the_product_and_reg_to_zero_the_exact_plan():
    cost, a, b = problem(9, 13, 1)
    assert torch.allclose(ot.sinkhorn(cost, a, b, reg=1e7).matrix, a.outer(b), atol=1e-7)
    exact = ot.exact(cost, a, b)
    gaps = [float(ot.sinkhorn(cost, a, b, reg=reg).cost - exact.cost) for reg in (0.1, 1e-2, 1e-3, 1e-5)]
    assert gaps == sorted(gaps, reverse=True)
    assert 0 <= gaps[-1] + 1e-7 < 1e-5
    assert torch.allclose(ot.sinkhorn(cost, a, b, reg=1e-5).matrix, exact.matrix, atol=1e-6)


def test_shifts_scales_masses_transposition_and_order():
    cost, a, b = problem(7, 11, 2)
    base = ot.sinkhorn(cost, a, b, reg=0.05, tol=1e-12)
    shifted = cost + torch.rand(7, 1, dtype=torch.float64, generator=Generator().manual_seed(0))
    assert torch.allclose(ot.sinkhorn(shifted, a, b, reg=0.05, tol=1e-12).matrix, base.matrix)
    for factor in (1e-6, 1e6):
        assert torch.allclose(ot.sinkhorn(factor * cost, a, b, reg=factor * 0.05, tol=1e-12).matrix, base.matrix)
    heavy = ot.sinkhorn(cost, 7 * a, 7 * b, reg=0.05, tol=1e-12)
    assert torch.allclose(heavy.matrix, 7 * base.matrix)
    check_plan(heavy, 7 * a, 7 * b)
    assert torch.allclose(ot.sinkhorn(cost.T, b, a, reg=0.05, tol=1e-12).matrix, base.matrix.T)
    rows, columns = torch.randperm(7), torch.randperm(11)
    mixed = ot.sinkhorn(cost[rows][:, columns], a[rows], b[columns], reg=0.05, tol=1e-12)
    assert torch.allclose(mixed.matrix, base.matrix[rows][:, columns])


def test_masses_that_nearly_agree_are_brought_together():
    cost, a, b = problem(5, 6, 3)
    plan = ot.sinkhorn(cost, a, b * (1 + 1e-7), reg=0.1)
    assert float(plan.matrix.sum()) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_point_of_hardly_any_mass_is_a_point_without(dtype):
    """Beside the others no kernel can hold it: it would be divided by 0 for ever."""
    cost, a, b = problem(6, 5, 4, dtype)
    a[2], b[1] = torch.finfo(dtype).tiny, 0
    plan = ot.sinkhorn(cost, a, b / b.sum() * a.sum(), reg=0.05)
    assert not plan.matrix[2].any()
    assert plan.potentials[0][2] == plan.potentials[1][1] == -math.inf


@pytest.mark.parametrize(("n", "m"), [(20, 20), (15, 40)])
@pytest.mark.parametrize("reg", [0.5, 0.02])
def test_the_plan_is_pots(n, m, reg):
    cost, a, b = problem(n, m, 5)
    other = pot.sinkhorn(
        a.numpy(), b.numpy(), cost.numpy(), reg, method="sinkhorn_log", stopThr=1e-13, numItermax=50_000
    )
    assert torch.allclose(ot.sinkhorn(cost, a, b, reg=reg, tol=1e-12).matrix, torch.from_numpy(other), atol=1e-10)


def test_one_hot_duplicates_are_the_points_they_repeat():
    """Late in training most rows are one-hot; the plan of copies adds up to that of single points."""
    truth = torch.arange(100) % 7
    outputs = torch.eye(7, dtype=torch.float64)[truth]
    outputs[:13] = points(13, 7, 0).softmax(1)
    even = torch.full((100,), 0.01, dtype=torch.float64)
    plan = ot.sinkhorn(ot.distance_cost(outputs, outputs), even, even, reg=0.05)
    check_plan(plan, even, even)
    single, index = outputs.unique(dim=0, return_inverse=True)
    assert len(single) == 20
    mass = torch.bincount(index, weights=even)
    merged = torch.zeros(20, 20, dtype=torch.float64).index_put_((index[:, None], index), plan.matrix, accumulate=True)
    assert torch.allclose(ot.sinkhorn(ot.distance_cost(single, single), mass, mass, reg=0.05).matrix, merged, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_costs_whose_kernel_underflows(dtype):
    """exp(-C / reg) holds nothing but zeros here, and the plain iteration gave 0.25 for 1.39."""
    x = 0.1 * points(30, 3, 6, dtype).softmax(1)
    y = x + math.sqrt(1.39 / 3)
    cost, even = ot.distance_cost(x, y), torch.full((30,), 1 / 30, dtype=dtype)
    reg = 2e-3 if dtype == torch.float32 else 1e-4
    assert not (-cost / reg).exp().any()
    assert float(ot.sinkhorn(cost, even, even, reg=reg).cost) == pytest.approx(1.39, rel=2e-3)


def test_an_early_stop_is_an_error_that_says_what_to_change():
    cost, a, b = problem(20, 20, 7)
    with pytest.raises(
        ot.NotConverged, match=r"sinkhorn stopped at 3 iterations with marginal error \d.*\(tol 1e-08\)"
    ):
        ot.sinkhorn(cost, a, b, reg=1e-3, max_iter=3)
    with pytest.raises(ot.NotConverged, match=r"reg \(now 0.001; the cost spans 0.\d+ to 0.9\d+\) or max_iter$"):
        ot.sinkhorn(cost, a, b, reg=1e-3, max_iter=3)
    with pytest.raises(ot.NotConverged, match="give float64"):
        ot.sinkhorn(cost.float(), a.float(), b.float(), reg=1e-3, max_iter=3)


def test_an_early_stop_that_is_returned_says_so_itself():
    """Such a plan may cost less than the optimum: it is no coupling of the two marginals."""
    cost, a, b = problem(20, 20, 7)
    plan = ot.sinkhorn(cost, a, b, reg=1e-3, max_iter=3, on_failure="return")
    assert not plan.converged
    assert plan.iterations == 3
    off = float((plan.matrix.sum(1) - a).abs().sum() + (plan.matrix.sum(0) - b).abs().sum())
    assert plan.marginal_error == pytest.approx(off, rel=1e-6)
    assert off > 1e-3
    assert float(plan.cost) < float(ot.exact(cost, a, b).cost)


@pytest.mark.parametrize("seed", range(3))
def test_newtons_method_ends_what_crawls(seed, monkeypatch):
    cost, a, b = problem(60, 60, seed)
    plan = ot.sinkhorn(cost, a, b, reg=1e-5)
    check_plan(plan, a, b)
    assert 600 < plan.iterations < 700
    assert ot.sinkhorn(cost, a, b, reg=1e-5, start="newton").iterations <= 10
    monkeypatch.setattr("fewlabels.ot.scaling._PATIENCE", (math.inf, 0))
    with pytest.raises(ot.NotConverged):
        ot.sinkhorn(cost, a, b, reg=1e-5, max_iter=1500)


def test_what_nobody_can_solve_is_an_error_still():
    cost, a, b = problem(40, 30, 0)
    with pytest.raises(ot.NotConverged, match="sinkhorn stopped at 10000 iterations"):
        ot.sinkhorn(cost, a, b**40 / (b**40).sum(), reg=1e-13)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("reg", [0.05, 2e-3])
def test_a_warm_start_gives_the_same_plan_however_far_the_problem_drifted(dtype, reg):
    cost, a, b = problem(25, 15, 8, dtype)
    tol = 1e-5 if dtype == torch.float32 else 1e-9
    cold = ot.sinkhorn(cost, a, b, reg=reg, tol=tol)
    again = ot.sinkhorn(cost, a, b, reg=reg, tol=tol, start=cold.potentials)
    assert again.iterations <= 10
    drifted = ot.sinkhorn(1 + 3 * problem(25, 15, 9, dtype)[0], a, b, reg=reg, on_failure="return").potentials
    for start in (cold.potentials, drifted, tuple(1e4 * p for p in drifted), (a, 1e25 * points(15, 1, 0, dtype)[:, 0])):
        warm = ot.sinkhorn(cost, a, b, reg=reg, tol=tol, start=start)
        check_plan(warm, a, b, atol=10 * tol)
        assert float(warm.cost) == pytest.approx(float(cold.cost), rel=1e-3 if dtype == torch.float32 else 1e-6)


def test_a_start_leaves_points_without_mass_out():
    cost, a, b = problem(6, 5, 10)
    b[3] = 0
    b /= b.sum()
    cold = ot.sinkhorn(cost, a, b, reg=0.05)
    warm = ot.sinkhorn(cost, a, b, reg=0.05, start=cold.potentials)
    assert cold.potentials[1][3] == -math.inf
    assert torch.allclose(warm.matrix, cold.matrix, atol=1e-8)


def test_the_objective_has_a_gradient_and_the_cost_refuses_one():
    cost, a, b = problem(4, 5, 11)
    cost.requires_grad_()
    assert torch.autograd.gradcheck(lambda c: ot.sinkhorn(c, a, b, reg=0.2, tol=1e-13).objective, cost)
    plan = ot.sinkhorn(cost, a, b, reg=0.2)
    [gradient] = torch.autograd.grad(plan.objective, cost)
    assert torch.equal(gradient, plan.matrix)
    assert plan.cost.item() == pytest.approx(float((plan.matrix * cost.detach()).sum()))
    with pytest.raises(ValueError, match=r"reg 0\.2\) has no gradient here.*differentiate plan\.objective"):
        plan.cost.backward()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost": torch.tensor([[1.0, -2.0], [0.0, 1.0]])}, "the cost spans -2 to 1"),
        ({"cost": torch.tensor([[1.0, math.nan], [0.0, 1.0]])}, "the cost spans nan to nan"),
        ({"cost": torch.tensor([[1.0, math.inf], [0.0, 1.0]])}, "the cost spans 0 to inf"),
        ({"cost": torch.zeros(0, 2)}, r"the cost has shape \(0, 2\)"),
        ({"cost": torch.zeros(2)}, r"the cost has shape \(2,\)"),
        ({"cost": torch.ones(2, 2).double()}, "cost is torch.float64, a is torch.float32"),
        ({"cost": torch.ones(2, 2).half(), "a": torch.ones(2).half(), "b": torch.ones(2).half()}, "float16"),
        ({"a": torch.ones(3)}, r"a has shape \(3,\) for 2 points"),
        ({"b": torch.ones(2, 1)}, r"b has shape \(2, 1\) for 2 points"),
        ({"a": torch.tensor([1.5, -0.5])}, "a spans -0.5 to 1.5"),
        ({"b": torch.tensor([0.5, math.nan])}, "b spans nan to nan"),
        ({"b": torch.tensor([0.5, math.inf])}, "b spans 0.5 to inf"),
        ({"a": torch.zeros(2)}, "a is 0 at all 2 points"),
        ({"a": torch.tensor([0.5, 0.6])}, r"a sums to 1\.1\d* and b to 1: scale one"),
        ({"a": torch.ones(2).div(2).requires_grad_()}, "a asks for a gradient, which is not offered"),
        ({"reg": 0.0}, "reg is 0: give a positive number, or use exact"),
        ({"reg": -0.5}, "reg is -0.5"),
        ({"reg": math.inf}, "reg is inf"),
        ({"reg": math.nan}, "reg is nan"),
        ({"reg": 1e-7}, r"reg is 1e-07, below the rounding of a torch.float32 cost up to 1: raise it to 7\.6e-06"),
        ({"tol": 1e-8}, r"tol is 1e-08, out of reach of torch.float32 \(at least 1e-06\): use float64"),
        ({"tol": math.nan}, "tol is nan"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"start": (torch.zeros(2), torch.zeros(3))}, r"start has \(3,\) torch.float32 for b: give \(2,\)"),
        ({"start": (torch.zeros(2), torch.tensor([0.0, math.nan]))}, "start has 1 potentials that are not finite"),
        ({"start": "newtn"}, "start is 'newtn'"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change, message):
    good = {"cost": torch.eye(2), "a": torch.full((2,), 0.5), "b": torch.full((2,), 0.5), "reg": 0.1}
    with pytest.raises(ValueError, match=message):
        ot.sinkhorn(**{**good, **change})


def test_float64_has_a_limit_too():
    cost, a, b = problem(2, 2, 0)
    with pytest.raises(ValueError, match=r"tol is 1e-16, out of reach of torch.float64 \(at least 1e-14\)$"):
        ot.sinkhorn(cost, a, b, reg=0.1, tol=1e-16)
    with pytest.raises(ValueError, match="below the rounding of a torch"):
        ot.sinkhorn(cost, a, b, reg=1e-16)


def test_weights_of_a_cloud_of_one():
    plan = ot.sinkhorn(torch.ones(1, 3), torch.ones(1), weights(3, 0, torch.float32), reg=1.0)
    assert torch.allclose(plan.matrix[0], weights(3, 0, torch.float32))

"""Eq. (1) and (6): distances of two clouds and of all pairs of two families."""

from __future__ import annotations

import math

import ot as pot
import pytest
import torch
from clouds_for_ot import CHEAP, cloud_pairs, points, softmax_families, weights
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator

from fewlabels import ot

ORDERS = [1, 1.5, 2, 3]
SHARP, BLUNT = ot.Sinkhorn(reg=0.02), ot.Sinkhorn(reg=0.5)
DEBIASED = ot.Sinkhorn(reg=0.5, tol=1e-10, debiased=True)
SOLVERS = [ot.Exact(), SHARP, DEBIASED]


@pytest.mark.parametrize("order", ORDERS)
def test_a_dirac_meets_a_cloud_at_its_mean_power(order):
    x, y, b = points(1, 3, 0), points(9, 3, 1), weights(9, 2)
    expected = float((b @ (x - y).norm(dim=1) ** order) ** (1 / order))
    for solver in (ot.Exact(), SHARP):  # one admissible coupling, whoever is asked
        assert float(ot.wasserstein(x, y, order, b=b, solver=solver)) == pytest.approx(expected)
        assert float(ot.wasserstein(y, x, order, a=b, solver=solver)) == pytest.approx(expected)
    assert float(ot.wasserstein(x, points(1, 3, 3), order)) == pytest.approx(float((x - points(1, 3, 3)).norm()))


@pytest.mark.parametrize("order", ORDERS)
def test_on_a_line_the_quantiles_meet(order):
    x, y = points(20, 1, 4), 2 * points(20, 1, 5) + 1
    expected = float((x.sort(0).values - y.sort(0).values).abs().pow(order).mean() ** (1 / order))
    assert float(ot.wasserstein(x, y, order)) == pytest.approx(expected)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_translation_costs_its_length(solver):
    x, shift = points(15, 3, 6), torch.tensor([3.0, 0.0, 4.0], dtype=torch.float64)
    tolerance = 0.06 if solver == SHARP else 1e-6  # entropy alone keeps the plan from the identity
    assert float(ot.wasserstein(x, x + shift, solver=solver)) == pytest.approx(5, rel=tolerance)
    assert float(ot.wasserstein(x, x + shift, 1, solver=ot.Exact())) == pytest.approx(5)


@pytest.mark.parametrize("order", ORDERS)
def test_the_distance_is_pots(order):
    x, y, a, b = points(12, 3, 7), points(17, 3, 8), weights(12, 9), weights(17, 10)
    cost = torch.cdist(x, y).pow(order)
    expected = pot.emd2(a.numpy(), b.numpy(), cost.numpy()) ** (1 / order)
    assert float(ot.wasserstein(x, y, order, a=a, b=b)) == pytest.approx(expected)
    entropic = pot.sinkhorn2(a.numpy(), b.numpy(), cost.numpy(), 0.3, method="sinkhorn_log", stopThr=1e-12)
    found = ot.wasserstein(x, y, order, a=a, b=b, solver=ot.Sinkhorn(0.3, tol=1e-11))
    assert float(found) ** order == pytest.approx(entropic)


@CHEAP
@given(cloud_pairs(), st.sampled_from(ORDERS))
def test_it_is_a_distance(pair, order):
    x, y, a, b = pair
    z, c = points(4, x.shape[1], 99), weights(4, 98)
    there = float(ot.wasserstein(x, y, order, a=a, b=b))
    assert float(ot.wasserstein(y, x, order, a=b, b=a)) == pytest.approx(there, rel=1e-9, abs=1e-9)
    assert float(ot.wasserstein(x, x, order, a=a, b=a)) == pytest.approx(0, abs=1e-5)
    by_way = float(ot.wasserstein(x, z, order, a=a, b=c)) + float(ot.wasserstein(z, y, order, a=c, b=b))
    assert there <= by_way * (1 + 1e-9) + 1e-9
    assert there >= float((a @ x - b @ y).norm()) * (1 - 1e-9) - 1e-9
    assert float(ot.wasserstein(x, y, order + 1, a=a, b=b)) >= there * (1 - 1e-9) - 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_moving_turning_scaling_reordering_and_copying(solver):
    x, y = points(10, 3, 11), points(8, 3, 12)
    base = float(ot.wasserstein(x, y, solver=solver))
    turn = torch.linalg.qr(points(3, 3, 13)).Q
    far = torch.full((3,), 1e4, dtype=torch.float64)
    assert float(ot.wasserstein(x @ turn + far, y @ turn + far, solver=solver)) == pytest.approx(base)
    assert float(ot.wasserstein(x.flip(0), y[torch.randperm(8)], solver=solver)) == pytest.approx(base)
    assert float(ot.wasserstein(x.repeat(3, 1), y.repeat(2, 1), solver=solver)) == pytest.approx(base)
    assert float(ot.wasserstein(y, x, solver=solver)) == pytest.approx(base)
    match solver:
        case ot.Sinkhorn(reg=reg, debiased=debiased):
            solver = ot.Sinkhorn(reg=100 * reg, tol=solver.tol, debiased=debiased)
    assert float(ot.wasserstein(10 * x, 10 * y, solver=solver)) == pytest.approx(10 * base)


@pytest.mark.parametrize("solver", SOLVERS)
def test_masses_scale_the_power(solver):
    x, y, a, b = points(5, 2, 14), points(6, 2, 15), weights(5, 16), weights(6, 17)
    base = float(ot.wasserstein(x, y, a=a, b=b, solver=solver))
    assert float(ot.wasserstein(x, y, a=9 * a, b=9 * b, solver=solver)) == pytest.approx(3 * base)


@pytest.mark.parametrize("solver", SOLVERS)
def test_points_without_mass_are_not_there(solver):
    x, y, a = points(6, 2, 18), points(5, 2, 19), weights(6, 20)
    a[[1, 4]] = 0
    held = a > 0
    whole, part = ot.wasserstein(x, y, a=a / a.sum(), solver=solver), (a / a.sum())[held]
    assert float(whole) == pytest.approx(float(ot.wasserstein(x[held], y, a=part, solver=solver)))


def test_the_debiased_value_is_a_divergence_that_meets_the_distance():
    x, y = points(12, 2, 21), points(9, 2, 22) + 0.5
    assert float(ot.wasserstein(x, x, solver=DEBIASED)) == pytest.approx(0, abs=1e-5)
    exact = float(ot.wasserstein(x, y))
    small = ot.Sinkhorn(reg=1e-4, debiased=True)
    assert float(ot.wasserstein(x, y, solver=small)) == pytest.approx(exact, rel=1e-3)
    assert float(ot.wasserstein(x, y, solver=ot.Sinkhorn(reg=1e6, debiased=True))) == pytest.approx(
        float((x.mean(0) - y.mean(0)).norm()), rel=1e-3
    )  # at order 2 all that is left is the distance of the means
    for seed in range(10):
        assert float(ot.wasserstein(x, points(7, 2, seed), solver=DEBIASED)) > 0


def test_entropy_inflates_the_distance_and_debiasing_hardly():
    """At reg 0.05 of the mean cost the matched distance rose by 20 to 48 %."""
    qs, ps = softmax_families(6, 60, 0)
    x, y = qs[0], ps[0]
    exact, reg = float(ot.wasserstein(x, y)), 0.05 * float(ot.distance_cost(x, ps[1]).mean())
    assert float(ot.wasserstein(x, y, solver=ot.Sinkhorn(reg))) > 1.1 * exact
    assert float(ot.wasserstein(x, y, solver=ot.Sinkhorn(reg, debiased=True))) < 1.05 * exact


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_kernel_that_underflows_loses_nothing(dtype):
    """A true W_2^2 of 1.39 came out as 0.25 where exp(-C / reg) was 0."""
    x = points(40, 3, 23, dtype).softmax(1) / 10
    shift = torch.tensor([math.sqrt(1.39), 0.0, 0.0], dtype=dtype)
    solver = ot.Sinkhorn(reg=1e-3)
    assert not (-ot.distance_cost(x, x + shift) / 1e-3).exp().any() or dtype == torch.float64
    assert float(ot.wasserstein(x, x + shift, solver=solver)) ** 2 == pytest.approx(1.39, rel=5e-3)
    matrix = ot.wasserstein_matrix([x, x], [x + shift], solver=solver)
    assert matrix.square().flatten().tolist() == pytest.approx([1.39, 1.39], rel=5e-3)


@pytest.mark.parametrize("order", [1, 2, 2.5])
def test_the_exact_distance_has_its_gradient(order):
    x, y = points(4, 2, 24).requires_grad_(), points(5, 2, 25).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, y: ot.wasserstein(x, y, order), (x, y))
    assert torch.autograd.gradcheck(lambda x: ot.wasserstein(x, y.detach()[:1], order), x)  # a Dirac


def test_the_debiased_value_has_its_gradient():
    x, y = points(4, 2, 26).requires_grad_(), points(3, 2, 27).requires_grad_()
    solver = ot.Sinkhorn(reg=0.5, tol=1e-13, debiased=True)
    assert torch.autograd.gradcheck(lambda x, y: ot.wasserstein(x, y, solver=solver), (x, y), atol=1e-4)
    families = [x, x + 1], [y]
    matrix = ot.wasserstein_matrix(*families, solver=solver)
    one = torch.autograd.grad(ot.wasserstein(x, y, solver=solver), x, retain_graph=True)[0]
    assert torch.allclose(torch.autograd.grad(matrix[0, 0], x, retain_graph=True)[0], one)
    detached = ot.wasserstein_matrix([q.detach() for q in families[0]], [y.detach()], solver=solver)
    assert torch.allclose(matrix, detached, atol=1e-8)


def test_where_clouds_coincide_the_gradient_is_0():
    x = points(4, 2, 28).requires_grad_()
    [gradient] = torch.autograd.grad(ot.wasserstein(x, x.detach()), x)
    assert not gradient.any()


def test_the_entropic_cost_refuses_a_gradient():
    x, y = points(4, 2, 29).requires_grad_(), points(5, 2, 30)
    for value in (
        lambda: ot.wasserstein(x, y, solver=BLUNT),
        lambda: ot.wasserstein(y, x, solver=BLUNT),
        lambda: ot.wasserstein_matrix([y], [x, y], solver=BLUNT),
    ):
        with pytest.raises(
            ValueError, match=r"entropic plan \(reg 0\.5\) has no gradient here.*debiased=True\) or Exact"
        ):
            value()
        with torch.no_grad():
            assert torch.isfinite(value()).all()


def families(dtype: torch.dtype = torch.float64):
    """Sizes from a Dirac up, and weights, some of them 0."""
    qs = [points(n, 3, n, dtype) for n in (5, 1, 17, 30, 6)]
    ps = [points(n, 3, 50 + n, dtype) + 0.3 for n in (9, 20, 1, 2)]
    a, b = [weights(len(q), 1, dtype) for q in qs], [weights(len(p), 2, dtype) for p in ps]
    a[3][::2] = 0
    a[3] /= a[3].sum()
    return qs, ps, a, b


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("tile", [3 * 2**19, 2**9])
def test_the_matrix_holds_every_pair(solver, order, tile, monkeypatch):
    monkeypatch.setitem(ot.pairs.TILE, "cpu", tile)
    qs, ps, a, b = families()
    matrix = ot.wasserstein_matrix(qs, ps, order, a=a, b=b, solver=solver)
    for i, (q, u) in enumerate(zip(qs, a, strict=True)):
        for j, (p, v) in enumerate(zip(ps, b, strict=True)):
            one = ot.wasserstein(q, p, order, a=u, b=v, solver=solver)
            assert float(matrix[i, j]) == pytest.approx(float(one), rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_matrix_of_even_weights_in_float32(solver):
    qs, ps, *_ = families()
    solver = solver if isinstance(solver, ot.Exact) else ot.Sinkhorn(solver.reg, debiased=solver.debiased)
    low = ot.wasserstein_matrix([q.float() for q in qs], [p.float() for p in ps], solver=solver)
    assert low.dtype == torch.float32
    high = ot.wasserstein_matrix(qs, ps, solver=solver)
    assert torch.allclose(low.double(), high, rtol=2e-3)


def test_the_matrix_of_one_hot_outputs():
    """87 % of the rows are exactly one-hot late in training."""
    generator = Generator().manual_seed(0)
    qs = [torch.eye(5)[[i]].repeat(30, 1) for i in range(5)]
    for q in qs:
        q[:4] = torch.rand(4, 5, generator=generator).softmax(1)
    matrix = ot.wasserstein_matrix(qs, qs, solver=ot.Sinkhorn(reg=0.01))
    assert torch.isfinite(matrix).all()
    assert matrix.argmin(1).tolist() == list(range(5))
    pure = ot.wasserstein_matrix([q[4:] for q in qs], [q[5:] for q in qs], solver=ot.Sinkhorn(reg=0.01))
    assert torch.allclose(pure, math.sqrt(2) * (1 - torch.eye(5)), atol=1e-6)


def test_no_more_than_a_tile_or_a_pair_of_costs_is_held(monkeypatch):
    held = []

    def seen(x, y, order):
        cost = ot.distance_cost(x, y, order)
        held.append(cost.numel() * cost.element_size())
        return cost

    monkeypatch.setattr(ot.pairs, "distance_cost", seen)
    monkeypatch.setitem(ot.pairs.TILE, "cpu", 2**14)
    qs = [points(n, 2, n) for n in (5, 8, 11, 14, 20, 60) for _ in range(2)]
    ot.wasserstein_matrix(qs, qs, solver=BLUNT)
    assert sum(held) >= 8 * sum(len(q) for q in qs) ** 2
    assert max(held) <= max(2**14, 8 * 60 * 60)


def test_a_pair_that_does_not_converge_is_named():
    qs, ps = [torch.zeros(3, 2), torch.ones(4, 2)], [points(30, 2, 1, torch.float32), torch.zeros(2, 2)]
    with pytest.raises(ot.NotConverged, match=r"pair \(\d, \d\): sinkhorn stopped at 5 iterations with marginal error"):
        ot.wasserstein_matrix([*qs, 20 * points(30, 2, 2, torch.float32)], ps, solver=ot.Sinkhorn(0.01, max_iter=5))


def test_pairs_that_crawl_end_in_newtons_method():
    qs = [points(40, 2, seed) for seed in range(3)]
    solver = ot.Sinkhorn(reg=1e-5)
    matrix = ot.wasserstein_matrix(qs[:2], qs[1:], solver=solver)
    assert torch.allclose(matrix, ot.wasserstein_matrix(qs[:2], qs[1:]), atol=1e-4)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": 0.5}, r"order is 0\.5: a Wasserstein distance needs a finite order >= 1"),
        ({"order": math.inf}, "order is inf"),
        ({"order": math.nan}, "order is nan"),
        ({"x": torch.zeros(0, 2)}, r"x has shape \(0, 2\): give a matrix with at least one point"),
        ({"y": torch.zeros(3)}, r"y has shape \(3,\)"),
        ({"y": torch.tensor([[0.0, math.nan]])}, "y has coordinates that are not finite: 1 of them"),
        ({"x": torch.tensor([[math.inf, math.inf]])}, "x has coordinates that are not finite: 2 of them"),
        ({"y": torch.zeros(4, 3)}, "x has dimension 2 and y 3: give clouds of one space"),
        ({"y": torch.zeros(4, 2).double()}, "y is torch.float64"),
        ({"a": torch.ones(3)}, r"a has shape \(3,\) for 2 points"),
        ({"a": torch.tensor([2.0, -1.0])}, "a spans -1 to 2"),
        ({"a": torch.tensor([1.0, 1.0])}, "a sums to 2 and b to 1"),
        ({"b": torch.zeros(4)}, "b is 0 at all 4 points"),
        ({"solver": ot.Sinkhorn(reg=0)}, "reg is 0"),
        ({"solver": ot.Sinkhorn(reg=0.1, debiased=True), "order": 3}, "debiased=True with order 3"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change, message):
    good = {"x": torch.eye(2), "y": torch.ones(4, 2)}
    with pytest.raises(ValueError, match=message):
        ot.wasserstein(**{**good, **change})


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": 0.99}, r"order is 0\.99"),
        ({"qs": []}, "0 and 1 clouds: give at least one on each side"),
        ({"ps": []}, "2 and 0 clouds"),
        ({"qs": [torch.eye(2), torch.zeros(0, 2)]}, r"qs\[1\] has shape \(0, 2\)"),
        ({"ps": [torch.full((2, 2), math.nan)]}, r"ps\[0\] has coordinates that are not finite: 4"),
        ({"ps": [torch.zeros(2, 3)]}, r"ps\[0\] has dimension 3 and qs\[0\] 2"),
        ({"ps": [torch.zeros(2, 2).double()]}, r"ps\[0\] is torch.float64"),
        ({"a": [torch.ones(2)]}, "a has 1 weight vectors for 2 clouds"),
        ({"a": [torch.ones(2), torch.zeros(3)]}, r"a\[1\] is 0 at all 3 points: give at least one point some mass"),
        ({"b": [torch.ones(4).double()]}, r"b\[0\] is torch.float64"),
        ({"b": [torch.full((4,), 0.5)]}, r"a\[0\] sums to 1 and b\[0\] to 2"),
        ({"a": [torch.ones(2) / 2, torch.ones(3)]}, r"a\[0\] sums to 1 and a\[1\] to 3"),
        ({"solver": ot.Sinkhorn(reg=-1)}, "reg is -1"),
        ({"solver": ot.Sinkhorn(reg=0.1, debiased=True), "order": 2.5}, r"debiased=True with order 2\.5"),
    ],
)
def test_a_bad_family_is_refused_in_a_sentence(change, message):
    good = {"qs": [torch.eye(2), torch.ones(3, 2)], "ps": [torch.zeros(4, 2)]}
    with pytest.raises(ValueError, match=message):
        ot.wasserstein_matrix(**{**good, **change})


@pytest.mark.usefixtures("unchecked")
def test_a_solver_is_one_of_two():
    with pytest.raises(TypeError, match=r"solver is 'exact': give Exact\(\) or Sinkhorn\(reg=...\)"):
        ot.wasserstein(torch.eye(2), torch.eye(2), solver="exact")

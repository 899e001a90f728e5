"""Eq. (6)-(8): the plan of the linear program, and the potentials that prove it."""

from __future__ import annotations

import math

import numpy as np
import ot as pot
import pytest
import torch
from clouds_for_ot import CHEAP, check_plan, points, problem
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from fewlabels import ot


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (5, 1), (8, 5), (40, 60)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_potentials_prove_the_plan(shape, dtype):
    cost, a, b = problem(*shape, 0, dtype)
    plan = ot.exact(cost, a, b)
    check_plan(plan, a, b, atol=1e-9 if dtype == torch.float64 else 1e-6)
    assert plan.matrix.dtype == plan.potentials[1].dtype == dtype
    assert (plan.reg, plan.iterations) == (0.0, 0)
    assert plan.marginal_error <= (1e-12 if dtype == torch.float64 else 1e-6)
    assert int((plan.matrix > 0).sum()) <= sum(shape) - 1  # a vertex


@pytest.mark.parametrize("seed", range(40))
def test_weights_that_float32_cannot_sum_to_one_are_solved(seed):
    cost, a, b = problem(5, 7, seed, torch.float32)
    wide = ot.exact(cost.double(), a.double() / a.double().sum(), b.double() / b.double().sum())
    assert float(ot.exact(cost, a, b).cost) == pytest.approx(float(wide.cost), rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_the_cost_is_scipys_and_pots(seed):
    n, m = 6, 9
    cost, a, b = problem(n, m, seed)
    rows, columns = np.kron(np.eye(n), np.ones((1, m))), np.kron(np.ones((1, n)), np.eye(m))
    marginals = np.concatenate([a, b])
    program = linprog(cost.numpy().ravel(), A_eq=np.concatenate([rows, columns]), b_eq=marginals)
    found = float(ot.exact(cost, a, b).cost)
    assert found == pytest.approx(program.fun, rel=1e-9)
    assert found == pytest.approx(pot.emd2(a.numpy(), b.numpy(), cost.numpy()), rel=1e-9)


@pytest.mark.parametrize("n", [2, 7, 40])
def test_a_permutation_is_found(n):
    x, order = points(n, 3, 1), torch.randperm(n)
    even = torch.full((n,), 1 / n, dtype=torch.float64)
    plan = ot.exact(ot.distance_cost(x, x[order] + 1e-3), even, even)
    assert torch.equal(plan.matrix.argmax(0), order)
    assert torch.allclose(plan.matrix, torch.eye(n, dtype=torch.float64)[:, order] / n)


@CHEAP
@given(st.integers(0, 10**6), st.integers(1, 10), st.integers(1, 10), st.integers(0, 3))
def test_hard_problems_are_solved(seed, n, m, kind):
    cost, a, b = problem(n, m, seed)
    match kind:
        case 0:
            cost = 10 ** (6 * cost - 6)
        case 1:
            a, b = 10 ** (6 * a / a.max() - 6), 10 ** (6 * b / b.max() - 6)
        case 2:
            cost = (4 * cost).round()  # ties
        case _:
            a[: n - 1 : 2], b[1::3] = 0, 0
    check_plan(ot.exact(cost, a / a.sum(), b / b.sum()), a / a.sum(), b / b.sum(), atol=1e-9)


def test_shifts_scales_masses_transposition_and_order():
    cost, a, b = problem(7, 11, 2)
    base = ot.exact(cost, a, b)
    assert torch.allclose(ot.exact(cost + points(7, 1, 0).abs(), a, b).matrix, base.matrix)
    for factor in (1e-12, 1e12):
        assert torch.allclose(ot.exact(factor * cost, a, b).matrix, base.matrix)
    check_plan(ot.exact(cost, 7 * a, 7 * b), 7 * a, 7 * b)
    assert torch.allclose(ot.exact(cost.T, b, a).matrix, base.matrix.T)
    rows, columns = torch.randperm(7), torch.randperm(11)
    assert torch.allclose(ot.exact(cost[rows][:, columns], a[rows], b[columns]).matrix, base.matrix[rows][:, columns])


def test_a_cost_of_nothing_and_rows_without_mass():
    third = torch.full((3,), 1 / 3, dtype=torch.float64)
    assert float(ot.exact(torch.zeros(3, 3, dtype=torch.float64), third, third).cost) == 0
    cost, a, b = problem(5, 4, 3)
    a[1], b[2] = 0, 0
    plan = ot.exact(cost, a / a.sum(), b / b.sum())
    check_plan(plan, a / a.sum(), b / b.sum())  # feasible potentials in the row without mass, too
    assert not plan.matrix[1].any()
    assert not plan.matrix[:, 2].any()


def test_the_cost_has_the_plan_as_its_gradient():
    cost, a, b = problem(4, 5, 4)
    cost.requires_grad_()
    assert torch.autograd.gradcheck(lambda c: ot.exact(c, a, b).cost, cost)
    plan = ot.exact(cost, a, b)
    assert torch.equal(torch.autograd.grad(plan.objective, cost)[0], plan.matrix)
    assert not plan.potentials[0].requires_grad


def test_a_limit_that_is_too_low_is_an_error():
    cost, a, b = problem(30, 30, 5)
    with pytest.raises(ot.NotConverged, match="exact stopped on 30 x 30 after at most 2 pivots"):
        ot.exact(cost, a, b, max_iter=2)


def test_a_plan_that_its_potentials_do_not_prove_is_refused(monkeypatch):
    """The network simplex may end early without a word; a wrong plan must not pass."""
    cost, a, b = problem(5, 5, 6)
    wrong = {"u": np.zeros(5), "warning": None}
    monkeypatch.setattr(pot, "emd", lambda a, b, *rest, **more: (np.outer(a, b), wrong))
    with pytest.raises(ot.NotConverged, match=r"found a plan of cost 0\.\d+ and can prove only .*positive costs from"):
        ot.exact(cost, a, b)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost": torch.tensor([[1.0, -2.0], [0.0, 1.0]])}, "the cost spans -2 to 1"),
        ({"cost": torch.tensor([[1.0, math.nan], [0.0, 1.0]])}, "the cost spans nan to nan"),
        ({"cost": torch.zeros(2, 0)}, r"the cost has shape \(2, 0\)"),
        ({"a": torch.ones(3)}, r"a has shape \(3,\) for 2 points"),
        ({"b": torch.tensor([1.5, -0.5])}, "b spans -0.5 to 1.5"),
        ({"a": torch.tensor([0.5, 0.6])}, r"a sums to 1\.1\d* and b to 1"),
        ({"b": torch.full((2,), 0.5).double()}, "b is torch.float64"),
        ({"max_iter": 0}, "max_iter is 0: allow at least one pivot"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change, message):
    good = {"cost": torch.eye(2), "a": torch.full((2,), 0.5), "b": torch.full((2,), 0.5)}
    with pytest.raises(ValueError, match=message):
        ot.exact(**{**good, **change})

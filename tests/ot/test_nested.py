"""Eq. (2) and (3): measures of measures."""

from __future__ import annotations

import math

import pytest
import torch
from clouds_for_ot import CHEAP, check_plan, points, weights
from hypothesis import given
from hypothesis import strategies as st

from fewlabels import ot


def measures(seed: int, count: int = 3, weighted: bool = False) -> ot.Measures:
    clouds = tuple(points(2 + (seed + i) % 4, 2, seed + i) for i in range(count))
    inner = tuple(weights(len(cloud), seed + i) for i, cloud in enumerate(clouds)) if weighted else None
    return ot.Measures(clouds, weights(count, seed), inner)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_measures_of_diracs_are_measures(order):
    x, y, a, b = points(6, 3, 0), points(5, 3, 1), weights(6, 2), weights(5, 3)
    m1, m2 = ot.Measures(tuple(x.split(1)), a), ot.Measures(tuple(y.split(1)), b)
    assert len(m1) == 6
    expected = float(ot.wasserstein(x, y, order, a=a, b=b))
    assert float(ot.nested_wasserstein(m1, m2, order)) == pytest.approx(expected)


def test_a_dirac_of_a_measure_is_as_far_as_the_measures():
    x, y, one = points(6, 3, 0), points(5, 3, 1), torch.ones(1).double()
    nested = ot.nested_wasserstein(ot.Measures((x,), one), ot.Measures((y,), one))
    assert float(nested) == pytest.approx(float(ot.wasserstein(x, y)))


@CHEAP
@given(st.integers(0, 10**4), st.sampled_from([1, 2]), st.booleans())
def test_it_is_a_distance(seed, order, weighted):
    m1, m2, m3 = (measures(seed + 100 * i, 2 + i, weighted) for i in range(3))

    def far(m, n):
        return float(ot.nested_wasserstein(m, n, order))

    assert far(m1, m2) == pytest.approx(far(m2, m1))
    assert far(m1, m2) > 0
    assert far(m1, m1) == pytest.approx(0, abs=1e-6)
    assert far(m1, m3) <= far(m1, m2) + far(m2, m3) + 1e-9


def test_order_of_clouds_and_points_copies_shift_and_scale():
    m, n = measures(1), measures(2, 4)
    base = float(ot.nested_wasserstein(m, n))
    mixed = ot.Measures(tuple(cloud.flip(0) for cloud in m.clouds[::-1]), m.masses.flip(0))
    assert float(ot.nested_wasserstein(mixed, n)) == pytest.approx(base)
    split = ot.Measures((*m.clouds, *m.clouds), torch.cat([m.masses, m.masses]) / 2)
    assert float(ot.nested_wasserstein(split, n)) == pytest.approx(base)
    grown = [ot.Measures(tuple(3 * cloud + 7 for cloud in k.clouds), k.masses) for k in (m, n)]
    assert float(ot.nested_wasserstein(*grown)) == pytest.approx(3 * base)
    moved = ot.Measures(tuple(cloud + torch.tensor([3.0, 4.0]) for cloud in m.clouds), m.masses)
    assert float(ot.nested_wasserstein(m, moved)) == pytest.approx(5)


def test_the_flattened_measures_are_no_further_apart():
    """Every nested coupling, carried out within each pair, is a coupling of all points."""
    m, n = measures(3), measures(4, 4)
    flat = [
        (
            torch.cat(k.clouds),
            torch.cat([c.new_full((len(c),), float(w) / len(c)) for c, w in zip(k.clouds, k.masses, strict=True)]),
        )
        for k in (m, n)
    ]
    (x, a), (y, b) = flat
    assert float(ot.wasserstein(x, y, a=a, b=b)) <= float(ot.nested_wasserstein(m, n))


@pytest.mark.parametrize("power", [1, 2])
def test_the_plan_is_that_of_its_cost_matrix(power):
    m, n = measures(5), measures(6, 4)
    X = ot.wasserstein_matrix(m.clouds, n.clouds).pow(power)
    plan = ot.nested_plan(m, n, power=power)
    check_plan(plan, m.masses, n.masses)
    assert torch.allclose(plan.cost_matrix, X)
    soft = ot.nested_plan(m, n, power=power, outer=ot.Sinkhorn(reg=0.25))
    check_plan(soft, m.masses, n.masses)
    assert torch.allclose(soft.matrix, ot.sinkhorn(X, m.masses, n.masses, reg=0.25).matrix)


def test_both_levels_take_either_solver():
    m, n = measures(7), measures(8, 4)
    exact = float(ot.nested_wasserstein(m, n))
    sharp = ot.Sinkhorn(reg=1e-3)
    for solver in (ot.Exact(), sharp):
        for outer in (ot.Exact(), sharp):
            assert float(ot.nested_wasserstein(m, n, solver=solver, outer=outer)) == pytest.approx(exact, rel=0.02)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": 0.5}, r"order is 0\.5"),
        ({"power": -1}, "power is -1: give a positive number"),
        ({"power": math.nan}, "power is nan"),
        ({"m1": ot.Measures((), torch.ones(0))}, "0 and 2 clouds"),
        ({"m1": ot.Measures((torch.eye(2),), torch.ones(2) / 2)}, r"a has shape \(2,\) for 1 points"),
        ({"m1": ot.Measures((torch.eye(3),), torch.ones(1))}, r"ps\[0\] has dimension 2 and qs\[0\] 3"),
        ({"m1": ot.Measures((torch.eye(2),), torch.full((1,), 2.0))}, "a sums to 2 and b to 1"),
        ({"m1": ot.Measures((torch.zeros(0, 2),), torch.ones(1))}, r"qs\[0\] has shape \(0, 2\)"),
        ({"m1": ot.Measures((torch.eye(2),), torch.ones(1), ())}, "a has 0 weight vectors for 1 clouds"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change, message):
    good = ot.Measures((torch.eye(2), torch.ones(3, 2)), torch.ones(2) / 2)
    with pytest.raises(ValueError, match=message):
        ot.nested_plan(**{"m1": good, "m2": good, **change})

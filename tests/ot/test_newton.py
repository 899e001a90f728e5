"""Newton's method on the dual: it ends where sweeps crawl."""

from __future__ import annotations

import pytest
import torch
from clouds_for_ot import CHEAP, problem, weights
from hypothesis import given
from hypothesis import strategies as st

from fewlabels import ot
from fewlabels.ot.newton import newton_potentials


def columns(cost, a, g, reg):
    return a @ ((g - cost) / reg).softmax(1)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 5), (5, 1), (30, 8), (8, 30), (25, 25)])
@pytest.mark.parametrize("reg", [10.0, 0.05, 1e-4])
def test_it_ends_where_the_dual_is_flat(n, m, reg):
    cost, a, b = problem(n, m, 0)
    g = newton_potentials(cost, a, b, reg)
    assert torch.allclose(columns(cost, a, g, reg), b, atol=1e-9)


def test_the_potentials_are_sinkhorns_up_to_a_constant():
    cost, a, b = problem(12, 9, 1)
    g = newton_potentials(cost, a, b, 0.05)
    other = ot.sinkhorn(cost, a, b, reg=0.05, tol=1e-12).potentials[1]
    assert torch.allclose(g - g.mean(), other - other.mean(), atol=1e-8)


@pytest.mark.parametrize("separation", [1.0, 10.0, 1000.0])
@pytest.mark.parametrize("reg", [0.25, 0.01])
def test_nearly_permutations(separation, reg):
    noise, even = problem(12, 12, 2)[0], torch.full((12,), 1 / 12, dtype=torch.float64)
    cost = separation * (noise + 1 - torch.eye(12, dtype=torch.float64))
    g = newton_potentials(cost, even, even, reg)
    assert torch.allclose(columns(cost, even, g, reg), even, atol=1e-9)


@CHEAP
@given(
    st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 8), st.sampled_from([1.0, 1e-2, 1e-4]), st.floats(1, 12)
)
def test_potentials_stay_within_the_costs(seed, n, m, reg, sharpness):
    """Beyond ``max C`` plus what the masses ask, the cost would be lost in the sum with a potential."""
    cost, a, b = problem(n, m, seed)[0], weights(n, seed) ** sharpness, weights(m, seed + 1) ** sharpness
    a, b = a / a.sum(), b / b.sum()
    g = newton_potentials(cost, a, b, reg)
    spread = g - reg * b.log()
    assert float(spread.max() - spread.min()) <= float(cost.max()) + 1e-6
    assert torch.allclose(columns(cost, a, g, reg), b, atol=1e-8)


def test_float32_is_solved_in_float64():
    cost, a, b = problem(10, 10, 3, torch.float32)
    g = newton_potentials(cost, a, b, 1e-3)
    assert g.dtype == torch.float64
    b = b.double() / b.double().sum()
    assert torch.allclose(columns(cost.double(), a.double() / a.double().sum(), g, 1e-3), b, atol=1e-6)

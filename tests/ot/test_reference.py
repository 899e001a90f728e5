"""The literal Algorithm 1 meets the closed form."""

from __future__ import annotations

import pytest
import torch
from clouds_for_ot import points, weights
from torch import Generator

from fewlabels import ot
from fewlabels.ot.reference import _maximise
from fewlabels.ot.seeding import starting_centers


@pytest.mark.parametrize("reg", [0.5, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_meets_the_closed_form(reg, weighted):
    x = points(6, 2, 1) / 2
    b = weights(6, 1) if weighted else None
    literal = ot.reference_barycenter(x, 2, reg=reg, b=b, init=x[:2])
    closed = ot.barycenter_clusters(x, 2, reg=reg, b=b, init=x[:2], tol=1e-12, max_iter=3000)
    assert literal.converged
    assert literal.objective == pytest.approx(closed.objective, rel=1e-6)
    assert torch.allclose(literal.centers, closed.centers, atol=1e-3)
    assert torch.allclose(literal.weights, closed.weights, atol=1e-3)
    assert torch.equal(literal.assignment, closed.assignment)


def test_the_best_weights_are_those_of_the_softmax_where_the_gradient_is_flat():
    x, y, b, reg = points(8, 2, 2) / 2, points(3, 2, 3) / 2, weights(8, 4), 1.0
    M = ot.distance_cost(y, x)
    a = _maximise(torch.full((3,), 1 / 3).double(), b, M, reg, 0.1, 1e-7, 300)
    closed = ((-M / reg).softmax(0) * b).sum(1)
    assert torch.allclose(a, closed, atol=1e-3)
    f = ot.sinkhorn(M, closed, b, reg=reg, tol=1e-12).potentials[0]
    assert torch.allclose(f - f.mean(), torch.zeros(3).double(), atol=1e-6)


def test_with_the_printed_sign_the_weights_run_to_a_vertex():
    """l. 7-8 with alpha the other way round: steps up the gradient of what is to fall."""
    M, a, b = (
        ot.distance_cost(points(3, 2, 3) / 2, points(8, 2, 2) / 2),
        torch.full((3,), 1 / 3).double(),
        weights(8, 4),
    )
    for _ in range(60):
        f = ot.sinkhorn(M, a, b, reg=1.0).potentials[0]
        a = (a.log() + 0.1 * (f - f.mean())).softmax(0)
    held = ((-M).softmax(0) * b).sum(1)
    assert float((a - held).abs().sum()) > 0.2
    assert float(a.max()) > float(held.max()) + 0.1


def test_alpha_is_the_gradient_of_the_smoothed_distance():
    """l. 7 with the sign put right, against finite differences within the simplex."""
    M, a, b = points(4, 9, 5).square(), weights(4, 6), weights(9, 7)
    f = ot.sinkhorn(M, a, b, reg=0.3, tol=1e-12).potentials[0]
    step = torch.tensor([1.0, -1.0, 0.5, -0.5]).double() * 1e-5

    def smoothed(a):
        return float(ot.sinkhorn(M, a, b, reg=0.3, tol=1e-12).objective)

    slope = (smoothed(a + step) - smoothed(a - step)) / 2e-5
    assert slope == pytest.approx(float((f - f.mean()) @ step) / 1e-5, rel=1e-4)


def test_it_says_when_it_stopped_early():
    x = points(6, 2, 1)
    found = ot.reference_barycenter(x, 3, reg=1.0, init=x[:3], max_iter=1, max_inner=2)
    assert not found.converged
    assert found.iterations == len(found.objectives) == 1


def test_it_starts_by_k_means_plus_plus():
    x = points(6, 2, 1) / 2
    start = starting_centers(x, torch.full((6,), 1 / 6).double(), 2, None, Generator().manual_seed(3))
    drawn = ot.reference_barycenter(x, 2, reg=1.0, generator=Generator().manual_seed(3))
    assert torch.equal(drawn.centers, ot.reference_barycenter(x, 2, reg=1.0, init=start).centers)


def test_a_reg_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="reg is 0"):
        ot.reference_barycenter(points(4, 2, 0), 2, reg=0.0)

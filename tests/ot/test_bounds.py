"""Bounds on W_k never pass it, and meet it where theory says so."""

from __future__ import annotations

import math

import pytest
import torch
from clouds_for_ot import CHEAP, cloud_pairs, points, softmax_families, weights
from hypothesis import given
from hypothesis import strategies as st

from fewlabels import ot
from fewlabels.ot.bounds import gaussian_bound, mean_bound, moments, product_bound

ORDERS = [1, 1.5, 2, 3]


def below(x, y):
    """Up to rounding."""
    return bool((x <= y * (1 + 1e-9) + 1e-7).all())


@CHEAP
@given(cloud_pairs(), st.sampled_from(ORDERS))
def test_the_order_of_the_bounds_of_a_pair(pair, order):
    x, y, a, b = pair
    exact = ot.wasserstein(x, y, order, a=a, b=b)
    q, p = moments([x], [a]), moments([y], [b])
    means, diagonal, full = mean_bound(q, p), gaussian_bound(q, p), ot.gelbrich(x, y, a, b)
    assert below(means, diagonal)
    assert below(diagonal, full)
    assert below(means, exact)
    if order >= 2:
        assert below(full, exact)
    assert below(exact, ot.line_bound(x, y, order, a, b))
    assert below(exact, product_bound(q, p, order))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("order", [1, 2, 3])
def test_thousands_of_random_pairs(seed, order):
    d = 1 + seed % 4
    qs = [points(2 + i % 4, d, 100 * seed + i) for i in range(8)]
    ps = [2 * points(1 + i % 5, d, 7000 + 100 * seed + i).round() + 0.5 for i in range(8)]
    a, b = [weights(len(q), i) for i, q in enumerate(qs)], [weights(len(p), i) for i, p in enumerate(ps)]
    exact = ot.wasserstein_matrix(qs, ps, order, a=a, b=b)
    q, p = moments(qs, a), moments(ps, b)
    assert below(ot.mean_matrix(qs, ps, a=a, b=b), exact)
    assert below(exact, product_bound(q, p, order))
    if order >= 2:
        assert below(ot.gaussian_matrix(qs, ps, a=a, b=b), exact)


def test_below_order_2_only_the_means_hold():
    """A tenth of the mass 10 away: W_1 is 1, the deviation 3."""
    x, y = torch.zeros(1, 1), torch.tensor([[0.0], [10.0]])
    b = torch.tensor([0.9, 0.1])
    assert float(ot.wasserstein(x, y, 1, b=b)) == pytest.approx(1)
    assert float(ot.mean_matrix([x], [y], b=[b])) == pytest.approx(1)
    assert float(ot.gaussian_matrix([x], [y], b=[b])) == pytest.approx(math.sqrt(10))
    assert float(ot.gelbrich(x, y, None, b)) == pytest.approx(math.sqrt(10))
    assert float(ot.wasserstein(x, y, 2, b=b)) == pytest.approx(math.sqrt(10))


def test_translations_meet_the_means_and_stretches_the_diagonal():
    x = points(20, 3, 0)
    shift, stretch = torch.tensor([1.0, -2.0, 3.0]).double(), torch.tensor([0.5, 2.0, 0.0]).double()
    assert float(ot.mean_matrix([x], [x + shift])) == pytest.approx(math.sqrt(14))
    assert float(ot.wasserstein(x, x + shift)) == pytest.approx(math.sqrt(14))
    exact = float(ot.wasserstein(x, x * stretch + shift))
    assert float(ot.gaussian_matrix([x], [x * stretch + shift])) == pytest.approx(exact)


def test_a_positive_linear_map_meets_gelbrichs_bound():
    x, root = points(20, 3, 1), points(3, 3, 2)
    y = x @ (root @ root.T) + 1  # the gradient of a convex function: an optimal map
    assert float(ot.gelbrich(x, y)) == pytest.approx(float(ot.wasserstein(x, y)))
    assert float(ot.gaussian_matrix([x], [y])) < 0.99 * float(ot.wasserstein(x, y))


def test_gaussians_in_closed_form():
    """Gelbrich's formula with matrix roots by eigenvalues."""

    def root(S):
        values, vectors = torch.linalg.eigh(S)
        return vectors * values.clamp_min(0).sqrt() @ vectors.T

    x, y, a = points(9, 4, 3), points(7, 4, 4) @ points(4, 4, 5), weights(9, 6)
    mean, other = a @ x, y.mean(0)
    S, R = (x - mean).T @ (a[:, None] * (x - mean)), (y - other).T @ (y - other) / 7
    square = (mean - other).square().sum() + S.trace() + R.trace() - 2 * root(root(S) @ R @ root(S)).trace()
    assert float(ot.gelbrich(x, y, a)) == pytest.approx(float(square.sqrt()))


@pytest.mark.parametrize("order", ORDERS)
def test_the_line_bound_is_exact_on_a_line(order):
    x, y, a, b = points(8, 1, 7), points(11, 1, 8) + 3, weights(8, 9), weights(11, 10)
    line = torch.tensor([[3.0, -4.0]]).double() / 5
    exact = float(ot.wasserstein(x, y, order, a=a, b=b))
    assert float(ot.line_bound(x, y, order, a, b)) == pytest.approx(exact)
    assert float(ot.line_bound(x @ line, y @ line, order, a, b)) == pytest.approx(exact)


def test_a_dirac_meets_the_product():
    x, y, b = points(1, 3, 11), points(6, 3, 12), weights(6, 13)
    found = product_bound(moments([x]), moments([y], [b]))
    assert float(found) == pytest.approx(float(ot.wasserstein(x, y, b=b)))


def test_moments_are_those_of_the_weighted_points():
    x, a = points(9, 3, 14), weights(9, 15)
    found = moments([x], [5 * a])
    assert torch.allclose(found.means[0], a @ x)
    assert torch.allclose(found.deviations[0].square(), a @ (x - a @ x).square())
    assert float(found.radii[0]) == pytest.approx(float((x - a @ x).norm(dim=1).max()))


def test_copies_that_are_one_point_have_no_deviation():
    x = torch.full((50, 4), 1 / 3)
    assert float(ot.gaussian_matrix([x], [x])) <= 1e-7
    assert float(ot.gelbrich(x, x)) <= 1e-7
    assert ot.mean_matrix([x], [x]).dtype == torch.float32


def test_the_diagonal_bound_picks_the_labels_of_softmax_outputs():
    qs, ps = softmax_families(8, 40, 0)
    assert torch.equal(ot.gaussian_matrix(qs, ps).argmin(1), ot.wasserstein_matrix(qs, ps).argmin(1))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qs": []}, "0 clouds: give at least one"),
        ({"ps": [torch.zeros(0, 2)]}, r"cloud 0 has shape \(0, 2\)"),
        ({"qs": [torch.eye(2), torch.zeros(3)]}, r"cloud 1 has shape \(3,\)"),
        ({"qs": [torch.eye(2), torch.zeros(3, 1)]}, "cloud 0 has dimension 2 and cloud 1 1"),
        ({"ps": [torch.zeros(3, 4)]}, "the families have dimensions 2 and 4"),
        ({"ps": [torch.full((2, 2), math.inf)]}, "cloud 0 has coordinates that are not finite: 4"),
        ({"a": []}, "0 weight vectors for 1 clouds"),
        ({"a": [torch.ones(3)]}, r"weights of cloud 0 has shape \(3,\) for 2 points"),
        ({"b": [torch.tensor([1.0, -1.0])]}, "weights of cloud 0 spans -1 to 1"),
        ({"b": [torch.zeros(2)]}, "weights of cloud 0 is 0 at all 2 points"),
        ({"b": [torch.ones(2).double()]}, "weights is torch.float64"),
    ],
)
@pytest.mark.parametrize("bound", [ot.mean_matrix, ot.gaussian_matrix])
def test_bad_input_is_refused_in_a_sentence(change, message, bound):
    with pytest.raises(ValueError, match=message):
        bound(**{"qs": [torch.eye(2)], "ps": [torch.ones(2, 2)], **change})


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("bound", [ot.gelbrich, ot.line_bound])
def test_a_bad_pair_is_refused_in_a_sentence(bound):
    for q, p, message in (
        (torch.zeros(0, 2), torch.eye(2), r"q has shape \(0, 2\)"),
        (torch.eye(2), torch.full((1, 2), math.nan), "p has coordinates that are not finite: 2"),
        (torch.eye(2), torch.eye(3), "q has dimension 2 and p 3"),
    ):
        with pytest.raises(ValueError, match=message):
            bound(q, p)
    with pytest.raises(ValueError, match=r"order is 0\.5"):
        ot.line_bound(torch.eye(2), torch.eye(2), 0.5)

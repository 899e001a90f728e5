"""Labels that bounds decide are those of the exact distances, and exact plans are few."""

from __future__ import annotations

import math

import pytest
import torch
from clouds_for_ot import CHEAP, points, softmax_families, weights
from hypothesis import given
from hypothesis import strategies as st

from fewlabels import ot


def random_families(seed: int, q: int = 5, p: int = 4, d: int = 2):
    qs = [points(2 + (seed + i) % 5, d, seed + i) for i in range(q)]
    return qs, [points(2 + (seed + i) % 4, d, seed + 50 + i) + 0.2 for i in range(p)]


@CHEAP
@given(st.integers(0, 10**5), st.sampled_from([1, 1.5, 2, 3]), st.booleans())
def test_every_certified_row_is_the_exact_argmin(seed, order, weighted):
    qs, ps = random_families(seed)
    a = [weights(len(q), seed) for q in qs] if weighted else None
    b = [weights(len(p), seed + 1) for p in ps] if weighted else None
    exact = ot.wasserstein_matrix(qs, ps, order, a=a, b=b)
    best = exact.argmin(1)
    found = ot.match_rows(qs, ps, order=order, a=a, b=b)
    assert torch.equal(found.labels, best)
    assert bool(found.certified.all())
    assert not found.error.any()
    assert 0 <= found.solved <= found.pairs == 20
    guess = ot.match_rows(qs, ps, mode="bound", order=order, a=a, b=b)
    assert torch.equal(guess.labels[guess.certified], best[guess.certified])
    assert torch.equal(guess.error.isnan(), ~guess.certified)
    assert guess.solved == 0
    for bounds in (found, guess):
        assert bool((bounds.lower <= exact + 1e-7).all())
        assert bool((bounds.upper >= exact - 1e-7).all())


@pytest.mark.parametrize(("sharpness", "share", "agree"), [(1.0, 0.8, 0.7), (4.0, 0.3, 1.0)])
def test_softmax_outputs_need_few_exact_plans(sharpness, share, agree):
    qs, ps = softmax_families(10, 30, 0, sharpness)
    found = ot.match_rows(qs, ps)
    assert torch.equal(found.labels, ot.wasserstein_matrix(qs, ps).argmin(1))
    assert found.solved <= share * found.pairs
    assert float((ot.match_rows(qs, ps, mode="bound").labels == found.labels).double().mean()) >= agree


def test_far_clouds_need_no_exact_plan():
    qs = [points(6, 2, i) / 10 + 5 * i for i in range(4)]
    found = ot.match_rows(qs[::-1], qs)
    assert found.labels.tolist() == [3, 2, 1, 0]
    assert found.solved == 0
    assert found.plan is None


def test_ties_are_either_and_end():
    q, p = points(5, 2, 1), points(4, 2, 2)
    found = ot.match_rows([q, q], [p + 9, p, p])
    assert bool((found.labels > 0).all())
    assert bool(found.certified.all())


def test_one_hot_clouds():
    qs = [torch.eye(4)[[i]].repeat(9, 1) for i in range(4)]
    found = ot.match_rows(qs, qs)
    assert found.labels.tolist() == [0, 1, 2, 3]
    assert found.solved == 0


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_the_argmax_of_the_plan_is_that_of_the_exact_costs(seed, power):
    qs, ps = random_families(seed, d=3)
    beta, alpha = weights(5, seed), weights(4, seed + 9)
    found = ot.match_rows(qs, ps, reg=0.25, masses=(beta, alpha), power=power)
    X = ot.wasserstein_matrix(qs, ps).pow(power)
    plan = ot.sinkhorn(X, beta, alpha, reg=0.25)
    assert torch.equal(found.labels, plan.matrix.argmax(1))
    assert bool(found.certified.all())
    assert torch.equal(found.plan.matrix.argmax(1), found.labels)
    if found.solved == found.pairs:
        assert torch.allclose(found.plan.matrix, plan.matrix, atol=1e-7)


@CHEAP
@given(st.integers(0, 10**5), st.sampled_from([0.1, 0.5, 2.0]), st.sampled_from([0.02, 0.1, 0.4]))
def test_no_label_misses_more_of_its_row_than_stated(seed, reg, error):
    qs, ps = random_families(seed, 4, 3)
    T = ot.sinkhorn(
        ot.wasserstein_matrix(qs, ps), torch.full((4,), 0.25).double(), torch.full((3,), 1 / 3).double(), reg=reg
    )
    rows = 4 * T.matrix
    for mode in ("certified", "bound"):
        found = ot.match_rows(qs, ps, mode=mode, reg=reg, error=error)
        missed = rows.amax(1) - rows.gather(1, found.labels[:, None])[:, 0]
        assert bool((missed <= found.error + 1e-6).all())
        assert torch.equal(found.certified, found.error <= error)
    assert found.solved == 0


def test_a_stated_error_spares_exact_plans():
    qs, ps = softmax_families(6, 30, 1, sharpness=2.0)
    strict = ot.match_rows(qs, ps, reg=0.25)
    loose = ot.match_rows(qs, ps, reg=0.25, error=0.5)
    assert loose.solved < strict.solved
    assert bool(loose.certified.all())
    assert float(loose.error.max()) <= 0.5


def test_one_cloud_to_choose():
    found = ot.match_rows([points(3, 2, 0), points(4, 2, 1)], [points(5, 2, 2)], reg=0.5)
    assert found.labels.tolist() == [0, 0]
    assert bool(found.certified.all())


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": "fast"}, "mode is 'fast': choose 'certified' or 'bound'"),
        ({"order": 0.5}, r"order is 0\.5"),
        ({"power": 0}, "power is 0: give a positive number"),
        ({"qs": []}, "0 clouds"),
        ({"ps": [torch.zeros(0, 2)]}, r"cloud 0 has shape \(0, 2\)"),
        ({"ps": [torch.zeros(2, 3)]}, "the families have dimensions 2 and 3"),
        ({"qs": [torch.full((1, 2), math.nan)]}, "not finite: 2"),
        ({"a": [torch.ones(3)]}, r"weights of cloud 0 has shape \(3,\) for 2 points"),
        ({"b": [torch.ones(2)]}, "1 weight vectors for 2 clouds"),
        ({"reg": -1.0}, "reg is -1"),
        ({"reg": 1.0, "masses": (torch.zeros(1), torch.ones(2) / 2)}, "masses give 1 rows nothing to move"),
        ({"reg": 1.0, "masses": (torch.ones(1), torch.ones(2))}, "a sums to 1 and b to 2"),
        ({"reg": 1.0, "masses": (torch.ones(1), torch.ones(3) / 3)}, r"b has shape \(3,\) for 2 points"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change, message):
    good = {"qs": [torch.eye(2)], "ps": [torch.ones(2, 2), torch.zeros(3, 2)]}
    with pytest.raises(ValueError, match=message):
        ot.match_rows(**{**good, **change})

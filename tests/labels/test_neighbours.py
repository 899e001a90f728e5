from __future__ import annotations

import pytest
import torch
from problems import blobs, softmax_rows
from sklearn.neighbors import KNeighborsClassifier
from torch import Generator

from fewlabels import ot
from fewlabels.errors import Diverged, InputError
from fewlabels.labels import Outputs, SampleToMeasure, SampleToSample, neighbours
from fewlabels.labels.neighbours import dirac_distances


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_sample_to_sample_is_one_nearest_neighbour(offset):
    x_l, y_l = softmax_rows(150, seed=1)
    x_u, _ = softmax_rows(400, seed=2)
    x_l, x_u = x_l.double() + offset, x_u.double() + offset
    oracle = KNeighborsClassifier(1).fit(x_l.numpy(), y_l.numpy()).predict(x_u.numpy())
    assert SampleToSample()(Outputs(x_l, y_l, x_u, 10), Generator()).labels.tolist() == oracle.tolist()


@pytest.mark.parametrize("order", [1, 2, 3])
def test_sample_to_measure_is_the_wasserstein_distance_to_each_class(order):
    x_l, y_l, x_u, _ = blobs(classes=3, dim=3, labeled=4, unlabeled=5, spread=0.6)
    brute = torch.tensor(
        [[float(ot.wasserstein(row[None], x_l[y_l == j], order)) for j in range(3)] for row in x_u],
        dtype=torch.float64,
    )
    assert torch.allclose(dirac_distances(x_l, y_l, x_u, classes=3, order=order), brute)
    labels = SampleToMeasure(order)(Outputs(x_l, y_l, x_u, 3), Generator()).labels
    assert torch.equal(labels, brute.argmin(1))


@pytest.mark.parametrize("order", [50, 500])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_high_order_comes_near_the_farthest_row_of_a_class(order, dtype):
    x_l, y_l, x_u, truth = blobs(classes=3, dim=3, labeled=4, unlabeled=5)
    x_l, x_u = 0.01 * x_l.to(dtype), 0.01 * x_u.to(dtype)  # powers of such distances are 0 in any type
    found = dirac_distances(x_l, y_l, x_u, classes=3, order=order)
    farthest = torch.stack([torch.cdist(x_u, x_l[y_l == j]).amax(1) for j in range(3)], 1)
    assert (found <= farthest * (1 + 1e-5)).all()
    assert (found >= farthest * 4 ** (-1 / order) * (1 - 1e-5)).all()  # where one of the four rows alone counts
    assert torch.equal(SampleToMeasure(order)(Outputs(x_l, y_l, x_u, 3), Generator()).labels, truth)


def test_a_row_on_the_only_row_of_a_class_is_at_distance_zero():
    assert dirac_distances(torch.eye(2), torch.arange(2), torch.eye(2)[:1], classes=2, order=3)[0, 0] == 0


def test_blocks_change_nothing(monkeypatch):
    x_l, y_l = softmax_rows(50, seed=3)
    x_u, _ = softmax_rows(333, seed=4)
    outputs = Outputs(x_l, y_l, x_u, 10)
    labelers = (SampleToSample(), SampleToMeasure(), SampleToMeasure(1))
    whole = [labeler(outputs, Generator()).labels for labeler in labelers]
    monkeypatch.setattr(neighbours, "_BLOCK", 170)
    for labeler, labels in zip(labelers, whole, strict=True):
        assert torch.equal(labeler(outputs, Generator()).labels, labels)


def test_the_first_of_equals_wins():
    x_l = torch.eye(2)[[1, 0, 1]]
    labels = SampleToSample()(Outputs(x_l, torch.tensor([1, 0, 0]), torch.eye(2)[[1]], 2), Generator()).labels
    assert labels.tolist() == [1]


def test_bad_input_is_refused_in_a_sentence():
    x_l, y_l, x_u, _ = blobs()
    with pytest.raises(InputError, match="0 labelled rows"):
        SampleToSample()(Outputs(x_l[:0], y_l[:0], x_u, 4), Generator())
    with pytest.raises(InputError, match="0 unlabelled rows"):
        SampleToSample()(Outputs(x_l, y_l, x_u[:0], 4), Generator())
    with pytest.raises(Diverged, match="not finite"):
        SampleToMeasure()(Outputs(x_l, y_l, x_u * torch.nan, 4), Generator())
    for order in (0.5, float("inf"), float("nan")):
        with pytest.raises(InputError, match=f"order is {order} and W_k needs a finite k >= 1: use 1 or 2"):
            SampleToMeasure(order)

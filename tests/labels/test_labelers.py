"""What holds for every labeler: one type, one label a row, and no tensor of as many entries as there are pairs."""

from __future__ import annotations

import inspect

import pytest
import torch
from problems import softmax_rows
from torch import Generator
from torch.utils._python_dispatch import TorchDispatchMode

from fewlabels.errors import Diverged, InputError
from fewlabels.labels import ROT, Argmax, Labeler, Outputs, PseudoLabels, SampleToMeasure, SampleToSample, match
from fewlabels.methods import METHODS

LABELERS = {
    "rot": ROT(),
    "rot, more clusters": ROT(clusters=30, class_prior=(0.1,) * 10),
    "rot, balanced": ROT(weights="uniform"),
    "soft-rot": ROT(soft=True),
    "ss-gnn": SampleToSample(),
    "sm-gnn": SampleToMeasure(),
    "sm-gnn, W_1": SampleToMeasure(order=1),
    "self-label": Argmax(),
    "self-label, threshold": Argmax(threshold=0.9),
}
every = pytest.mark.parametrize("labeler", LABELERS.values(), ids=LABELERS)


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_type_and_a_label_a_row(labeler, dtype):
    assert isinstance(labeler, Labeler)
    x_l, y_l = softmax_rows(120, seed=1)
    x_u, truth = softmax_rows(333, seed=2)
    found = labeler(Outputs(x_l.to(dtype), y_l, x_u.to(dtype), 10), Generator().manual_seed(0))
    assert isinstance(found, PseudoLabels)
    assert found.labels.shape == found.kept.shape == (333,)
    assert set(found.labels.tolist()) <= set(range(10))
    assert (found.labels == truth)[found.kept].double().mean() > 0.4
    if found.soft is not None:
        assert torch.allclose(found.soft.sum(1), torch.ones(333, dtype=dtype))


def test_the_methods_of_the_catalogue_use_them():
    named = {"rot": ROT, "soft-rot": ROT, "ss-gnn": SampleToSample, "sm-gnn": SampleToMeasure, "self-label": Argmax}
    for name, kind in named.items():
        assert type(METHODS[name].labeler) is kind
        assert isinstance(METHODS[name].labeler, Labeler)
    assert METHODS["soft-rot"].labeler.soft
    assert all(METHODS[name].terms == () for name in named)


class Largest(TorchDispatchMode):
    """The most entries of any tensor that is made while it lasts, strides of zero not counted."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, list | tuple) else (out,):
            if isinstance(tensor, torch.Tensor):
                self.entries = max(self.entries, tensor.untyped_storage().nbytes() // tensor.element_size())
        return out


@every
def test_no_tensor_holds_a_number_a_pair(labeler):
    n, m = 12_000, 11_000
    x_l, y_l = softmax_rows(n, seed=3)
    x_u, _ = softmax_rows(m, seed=4)
    outputs = Outputs(x_l, y_l, x_u, 10)
    with Largest() as seen:
        labeler(outputs, Generator().manual_seed(0))
    assert seen.entries < n * m / 50  # a block, or some numbers a row


def test_the_measure_would_see_a_matrix_of_pairs():
    with Largest() as seen:
        torch.cdist(torch.zeros(300, 2), torch.zeros(200, 2))
    assert seen.entries == 300 * 200


@every
def test_bad_rows_are_refused_by_all(labeler):
    x_l, y_l = softmax_rows(120, seed=1)
    x_u, _ = softmax_rows(30, seed=2)
    with pytest.raises(InputError, match="0 unlabelled rows and at least 1 is needed"):
        labeler(Outputs(x_l, y_l, x_u[:0], 10), Generator())
    with pytest.raises(Diverged, match="1 of 30 unlabelled outputs are not finite"):
        labeler(Outputs(x_l, y_l, x_u.index_fill(0, torch.tensor([4]), torch.nan), 10), Generator())


def test_match_carries_the_lines_of_algorithm_2():
    body = inspect.getsource(match).split('"""')[2]
    lines = [line for line in body.splitlines() if line.strip()]
    assert len(lines) <= 25
    for number in ("l. 3", "l. 4", "l. 5", "l. 6", "l. 7-9", "l. 10", "l. 11"):
        assert f"# {number}" in body

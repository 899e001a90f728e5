from __future__ import annotations

import pytest
import torch
from problems import softmax_rows
from torch import Generator

from fewlabels.errors import Diverged, InputError
from fewlabels.labels import Argmax, Outputs


def test_the_likeliest_class_and_abstention():
    x_u, _ = softmax_rows(100)
    outputs = Outputs(torch.eye(10), torch.arange(10), x_u, 10)
    assert torch.equal(Argmax()(outputs, Generator()).labels, x_u.argmax(1))
    assert Argmax()(outputs, Generator()).kept.all()
    assert torch.equal(Argmax(0.9)(outputs, Generator()).kept, x_u.amax(1) >= 0.9)


def test_bad_input_is_refused_in_a_sentence():
    x_l, y_l = torch.eye(3), torch.arange(3)
    with pytest.raises(InputError, match=r"threshold is 1\.5"):
        Argmax(1.5)
    with pytest.raises(InputError, match="2 columns and there are 3 classes"):
        Argmax()(Outputs(x_l[:, :2], y_l, torch.rand(4, 2), 3), Generator())
    with pytest.raises(InputError, match="the rows are features and labelling oneself needs probabilities"):
        Argmax()(Outputs(x_l, y_l, torch.rand(4, 3), 3, features=True), Generator())
    with pytest.raises(Diverged, match="1 of 3 unlabelled outputs"):
        Argmax()(Outputs(x_l, y_l, x_l.index_fill(0, torch.tensor([1]), torch.nan), 3), Generator())

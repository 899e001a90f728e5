"""What the parts of a step's loss are divided by, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from math import log

import pytest
import torch
from small_runs import training
from torch import nn

from fewlabels.labels import Argmax
from fewlabels.methods import EntMin, Method, Recipe
from fewlabels.train.loop import train_epoch

RECIPE = Recipe(
    labeled_batch=9,
    unlabeled_batch=12,
    labeled_view="plain",
    unlabeled_views=("plain",),
    epoch_steps=1,
    alpha=0.5,
    warmup=0.0,
    pool="all",
)


def always() -> nn.Module:
    """A network that gives every image the probabilities 1/2, 1/4 and 1/4."""
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
    nn.init.zeros_(network[1].weight)
    network[1].bias.data = torch.tensor([log(2.0), 0.0, 0.0])
    return network


@pytest.mark.parametrize(
    ("divide_by", "weight", "labeler", "expected"),
    [
        # In units of log 2. All nine labels, three a class: (1 + 2 + 2) / 3. Their labels for the rest say class 0: 1.
        # The entropy is 1/2 x 1 + 1/4 x 2 + 1/4 x 2 = 3/2.
        ("part", 0.5, None, 5 / 3 + 0.5 * 3 / 2),
        ("batch", 0.5, None, (9 * 5 / 3 + 12 * 0.5 * 3 / 2) / 21),
        ("part", 0.0, Argmax(), 5 / 3 + 0.5),
        ("batch", 0.0, Argmax(), (9 * 5 / 3 + 12 * 0.5) / 21),
        ("batch", 0.5, Argmax(), (9 * 5 / 3 + 12 * (0.5 + 0.5 * 3 / 2)) / 21),
        ("batch", 0.0, None, 5 / 3),  # nothing else in the batch
    ],
)
def test_a_part_is_divided_by_its_own_images_or_by_all_of_the_batch(divide_by, weight, labeler, expected):
    plan = Method(labeler, ((weight, EntMin()),), replace(RECIPE, divide_by=divide_by))
    t = training(plan, labels=9, network=always())
    assert train_epoch(t)["loss"] == pytest.approx(expected * log(2.0), rel=1e-5)


def test_the_weights_follow_the_divided_loss():
    recipe = replace(RECIPE, divide_by="batch", learning_rate=0.1, momentum=0.5, schedule="constant")
    t = training(Method(Argmax(), (), recipe), labels=9, network=always())
    train_epoch(t)
    p, shares = torch.tensor([0.5, 0.25, 0.25]), torch.full((3,), 1 / 3)
    slope = (9 * (p - shares) + 12 * 0.5 * (p - torch.tensor([1.0, 0.0, 0.0]))) / 21
    first = 0.1 * (1 + 0.5) * slope  # Nesterov's
    assert torch.allclose(t.network[1].bias, torch.tensor([log(2.0), 0.0, 0.0]) - first, atol=1e-6)

"""Two moons as images, and the error of a method there after 800 steps with six labels.

The colour of an image is a point of the plane, its class the moon the point lies on.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import torch
from sklearn.datasets import make_moons
from small_runs import run, training
from torch import nn

from fewlabels.data.images import Images, Source
from fewlabels.methods import METHODS, RECIPES, Method
from fewlabels.train.loop import judge

# A colour is a coordinate here, so no view may change it: both sides see the standard one.
RECIPE = replace(
    RECIPES["strong"](METHODS["pi"].recipe),
    labeled_view="standard",
    unlabeled_views=("standard", "standard"),
    labeled_batch=16,
    unlabeled_batch=64,
    epoch_steps=10,
    pool="all",
    ema=0.9,
)
NAMES = [name for name, entry in METHODS.items() if entry.uses_unlabeled]


def moons(seed: int, unlabeled: int = 400, judge: int = 400) -> Source:
    """4 x 4 images of two channels; the two coordinates are their means, and every pixel has noise of its own."""

    def draw(n: int, part: int) -> Images:
        points, labels = make_moons(n, noise=0.08, random_state=100 * seed + part)
        unit = (torch.from_numpy(points).float() - torch.tensor([-1.25, -0.75])) / torch.tensor([3.5, 2.0])
        generator = torch.Generator().manual_seed(100 * seed + part)
        noisy = unit[:, :, None, None] + 0.05 * torch.randn(n, 2, 4, 4, generator=generator)
        return Images((noisy.clamp(0, 1) * 255).to(torch.uint8), torch.from_numpy(labels))

    return Source(
        "moons", ("upper", "lower"), draw(unlabeled, 0), draw(judge, 1), draw(judge, 2), flip=False, noise=0.4
    )


def perceptron() -> nn.Module:
    """Two hidden layers are enough for two moons."""
    wide = [nn.Linear(64, 64), nn.BatchNorm1d(64), nn.LeakyReLU(0.1)]
    return nn.Sequential(
        nn.Flatten(), nn.Linear(32, 64), nn.BatchNorm1d(64), nn.LeakyReLU(0.1), *wide, nn.Linear(64, 2)
    )


def error(name: str, seed: int) -> float:
    """Of a method of the catalogue with its own knobs."""
    return _error(replace(METHODS[name], recipe=RECIPE), seed)


@cache
def without(seed: int) -> float:
    """The same recipe on the labels alone."""
    return _error(Method(recipe=RECIPE), seed)


def _error(plan: Method, seed: int) -> float:
    torch.manual_seed(seed)
    t = training(plan, source=moons(seed), steps=800, seed=seed, labels=6, network=perceptron())
    run(t)
    return judge(t, t.judged, t.problem.test).float().mean().item()

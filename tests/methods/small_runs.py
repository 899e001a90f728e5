"""Runs of a second: striped images, the small network, a few steps of any method."""

from __future__ import annotations

from dataclasses import replace

import torch

from fewlabels.data.images import Images, Source
from fewlabels.data.normalize import fit
from fewlabels.methods import METHODS, RECIPES, VAT, Method, Recipe
from fewlabels.models import SmallNet
from fewlabels.train.config import Config
from fewlabels.train.device import make_fabric
from fewlabels.train.loop import Training, begin, train_epoch
from fewlabels.train.problem import pose
from fewlabels.train.schedule import Budget, Clock

CPU = torch.device("cpu")
CLASSES = 3


def stripes(count: int = 72, seed: int = 0) -> Source:
    """8 x 8 grey images of three kinds of stripes under noise."""
    generator = torch.Generator().manual_seed(seed)
    rows, flat = torch.arange(8), torch.ones(8)
    kinds = torch.stack([torch.outer(rows % 2, flat), torch.outer(flat, rows % 2), torch.outer(rows // 2 % 2, flat)])

    def draw(n: int) -> Images:
        labels = torch.arange(n) % CLASSES
        noisy = kinds[labels] + 0.35 * torch.randn(n, 8, 8, generator=generator)
        return Images((noisy.clamp(0, 1) * 255).to(torch.uint8)[:, None], labels)

    return Source("stripes", ("a", "b", "c"), draw(count), draw(24), draw(24), flip=False, noise=0.1)


def short(recipe: Recipe, **changes: object) -> Recipe:
    """A recipe in small: few images a step, few steps an epoch."""
    small = {"labeled_batch": 6, "unlabeled_batch": 12, "supervised_batch": None, "epoch_steps": 2, "pool": 24}
    return replace(recipe, **{**small, **changes})


def method(name: str, **changes: object) -> Method:
    """A method of the catalogue under its own recipe, in small."""
    return replace(METHODS[name], recipe=short(METHODS[name].recipe, **changes))


def training(
    plan: Method,
    *,
    source: Source | None = None,
    steps: int = 6,
    seed: int = 0,
    labels: int = 9,
    network: torch.nn.Module | None = None,
) -> Training:
    """A run before its first step."""
    source = source or stripes()
    config = Config(source.name, labels=labels, seed=seed)
    problem = pose(source, fit("symmetric", source.train.pixels), config, plan, CPU)
    torch.manual_seed(seed)
    network = network or SmallNet(classes=problem.classes, channels=source.shape[0])
    fabric = make_fabric(device="cpu", precision="float32", devices=1, nodes=1)
    return begin(problem, plan, network, Clock(Budget(steps=steps)), fabric, seed=seed)


def run(t: Training) -> list[float]:
    """To the end of the budget; the loss of each epoch."""
    losses = []
    while not t.done:
        losses.append(train_epoch(t)["loss"])
    return losses


def weights(t: Training) -> torch.Tensor:
    """All parameters in one row."""
    return torch.cat([p.detach().flatten() for p in t.network.parameters()])


def trace(name: str, recipe: str = "strong", network: torch.nn.Module | None = None) -> list[float]:
    """The losses of 20 steps under a recipe; labelers speak at steps 4, 9 and 14.

    A tenth of the learning rate, and a length for VAT that is not that of these images: twenty steps must not make
    another run of a rounding error. (Adam's first steps follow the sign of gradients that are nearly zero.)
    """
    entry = METHODS[name]
    asked = RECIPES[recipe](entry.recipe)
    asked = short(asked, learning_rate=asked.learning_rate / 10, epoch_steps=1, relabel_epochs=5, warmup=0.2)
    terms = tuple((weight, VAT(eps=0.5) if isinstance(term, VAT) else term) for weight, term in entry.terms)
    return run(training(replace(entry, recipe=asked, terms=terms), steps=20, network=network))

"""How much of everything: the sizes, recipes, budgets and seeds that the paper's experiments are run with.

A preset turns what an experiment varies (data, method, labels, a setting) into a whole request. Runs of different
presets are different runs: they never share a column.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from fewlabels.data.splits import SEEDS
from fewlabels.errors import InputError
from fewlabels.experiments.sets import TRAINING
from fewlabels.train.config import Config, nearest


@dataclass(frozen=True)
class Preset:
    """A budget with a name. ``apply`` adds everything but the seed to what an experiment asks for."""

    name: str
    summary: str
    seeds: tuple[int, ...]
    apply: Callable[[Config], Config]


def preset(name: str) -> Preset:
    """The preset of this name.

    >>> preset("desk").seeds
    (0,)
    """
    if name not in PRESETS:
        raise InputError(f"there is no preset {name!r}.{nearest(name, PRESETS)}")
    return PRESETS[name]


DIGITS, SMALLER = 1_200, 20  # its training images; a twentieth of the paper's labels leaves most of them unlabelled


def smoke(ask: Config) -> Config:
    """The same path on digits: a twentieth of the labels, four epochs of eight steps. Its numbers mean nothing."""
    whole = ask.labels == TRAINING.get(ask.data)
    labels = DIGITS if whole else max(20, (ask.labels or 0) // SMALLER)
    unlabeled = None if ask.unlabeled is None else ask.unlabeled // (10 * SMALLER)
    return dataclasses.replace(
        ask,
        data="digits",
        labels=labels,
        unlabeled=unlabeled,
        model="small",
        recipe="strong",
        steps=32,
        overrides={"epoch_steps": 8, **ask.overrides},
    )


# Digits of houses are learnt in fewer steps than pictures of ten kinds of things: each set has the steps it needs.
DESK_STEPS = {"cifar10": 2_560, "svhn": 1_536, "svhn-extra": 1_536}


def desk(ask: Config) -> Config:
    """Real data for two CPU cores: one recipe, one number of steps for every method, half the paper's network.

    WRN-16-2 takes half the time of WRN-28-2 an image, so that there are more steps (docs/decisions/desk.md).
    """
    return dataclasses.replace(ask, model="wrn-16-2", recipe="strong", steps=DESK_STEPS[ask.data])


# The columns that Table 1 takes over from Oliver et al. (2018) are run by their recipes; all others by Sec. 7.
OLIVER = ("pi", "mean-teacher", "vat", "vat-entmin", "pseudo-label")


def paper(ask: Config) -> Config:
    """Sec. 7 of the paper for ROT, the greedy baselines and supervised, Oliver et al.'s for the methods they ran.

    The paper does not say how long it trained; 500,000 steps are Oliver et al.'s, whose columns it prints.
    """
    recipe = "oliver" if ask.method in OLIVER else "paper"
    return dataclasses.replace(ask, model="wrn-28-2", recipe=recipe, steps=500_000)


PRESETS: dict[str, Preset] = {
    p.name: p
    for p in (
        Preset("smoke", "digits, 32 steps a run: checks the path, measures nothing", (0, 1), smoke),
        Preset("desk", "real data, WRN-16-2, one recipe and one budget for all methods: for two CPU cores", (0,), desk),
        Preset(
            "paper", "the paper's and Oliver et al.'s recipes, 500,000 steps a run, five splits: for GPUs", SEEDS, paper
        ),
    )
}

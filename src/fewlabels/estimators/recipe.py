"""The recipe of an estimator: its own, one by name or one that was given, looked at before anything is trained."""

from __future__ import annotations

import dataclasses
from typing import Any, get_type_hints

from fewlabels.errors import InputError
from fewlabels.methods import RECIPES, Recipe
from fewlabels.train.config import check_setting, pick


def read_recipe(given: Any, own: Recipe, *, max_iter: int, alpha: float) -> Recipe:
    """What ``given`` asks for, every setting of it one that a run knows; epochs and alpha are the estimator's.

    >>> read_recipe("paper", Recipe(), max_iter=30, alpha=0.5).optimizer
    'adam'
    >>> read_recipe(Recipe(pool=-4), Recipe(), max_iter=30, alpha=1.0)
    Traceback (most recent call last):
    fewlabels.errors.InputError: pool is -4: give a number of at least 1
    """
    recipe = own if given is None else pick(RECIPES, given, "recipe")(own) if isinstance(given, str) else given
    if not isinstance(recipe, Recipe):
        raise InputError(f"recipe is {given!r}: give a fewlabels.methods.Recipe or a name: {', '.join(RECIPES)}")
    for name, hint in get_type_hints(Recipe).items():
        check_setting(name, getattr(recipe, name), hint)
    _refuse_second("epochs", recipe.epochs, "max_iter", max_iter)
    _refuse_second("alpha", recipe.alpha, "alpha", alpha)
    return dataclasses.replace(recipe, epochs=max_iter, alpha=alpha)


def _refuse_second(name: str, asked: float, parameter: str, value: float) -> None:
    """Two wishes for one setting: a recipe that leaves it as it comes has none."""
    if asked not in (value, getattr(Recipe, name)):
        raise InputError(
            f"the recipe has {name}={asked} and the estimator {parameter}={value}: leave it out of the recipe and give "
            f"{parameter}={asked}, if that is what you want"
        )

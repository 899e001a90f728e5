"""When two runs are the same run: when everything that decides their result agrees.

A configuration and a record are both reduced to the settings in force: the recipe, the labeler, the terms, the data and
the budget. The machine, the precision and the name of the preset do not count, so a record made elsewhere, or for
another table, is not made twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from fewlabels.methods import METHODS
from fewlabels.report.records import Record
from fewlabels.train.config import Config, plan_of
from fewlabels.train.record import request

ELSEWHERE = ("device", "precision", "devices", "nodes", "compile", "data_dir", "preset")
BUDGET = ("epochs", "steps", "minutes")
SEED = ("seed",)
PARTS = ("labeler", "terms", "recipe")  # of a method


def key(config: Config, *, but: tuple[str, ...] = ()) -> str:
    """What a request asks for, as text; ``but=SEED`` is the same for every seed of a cell.

    >>> asked = Config("digits", "rot", labels=100, steps=64)
    >>> key(asked) == key(Config("digits", "rot", labels=100, epochs=1, device="cpu", preset="desk"))
    True
    >>> key(asked) == key(Config("digits", "rot", labels=200, steps=64))
    False
    """
    recipe = plan_of(config).recipe
    steps = None if config.minutes is not None else config.steps or recipe.epochs * recipe.epoch_steps
    return _text(request(config, plan_of(config)), config.labels, steps, config.minutes, but)


def key_of_record(record: Record, *, but: tuple[str, ...] = ()) -> str:
    """The same text from what a run recorded."""
    return _text(_completed(record), record.labels, record.budget.steps, record.budget.minutes, but)


def run_name(config: Config) -> str:
    """The folder of a run: what people look for, then eight hexadecimal digits of what else decides it.

    >>> run_name(Config("digits", "rot", labels=100, seed=3))[:-8]
    'digits-rot-100-s3-'
    """
    digest = hashlib.sha256(key(config).encode()).hexdigest()[:8]
    return f"{config.data}-{config.method}-{config.labels}-s{config.seed}-{digest}"


def _completed(record: Record) -> dict[str, Any]:
    """A record's request, with the settings that came after it at what its method has for them.

    A setting is added so that it changes nothing until it is asked for, or else it is another method.
    """
    if record.method not in METHODS:
        return dict(record.config)
    own = request(Config(record.data, record.method), METHODS[record.method])
    return {**record.config, **{name: _filled(record.config.get(name), own[name]) for name in PARTS}}


def _filled(mine: Any, own: Any) -> Any:
    """Fields that only ``own`` has, wherever both are of the same kind."""
    if isinstance(mine, Mapping) and isinstance(own, Mapping) and mine.get("name") == own.get("name"):
        return {**own, **{name: _filled(value, own.get(name)) for name, value in mine.items()}}
    if isinstance(mine, list) and isinstance(own, list) and len(mine) == len(own):
        return [_filled(value, other) for value, other in zip(mine, own, strict=True)]
    return mine


def _text(
    asked: Mapping[str, Any], labels: int | None, steps: int | None, minutes: float | None, but: tuple[str, ...]
) -> str:
    tree = {name: value for name, value in asked.items() if name not in (*ELSEWHERE, *BUDGET, *but)}
    recipe = {name: value for name, value in tree.get("recipe", {}).items() if name != "epochs"}
    if tree.get("model") == "auto":
        tree["model"] = "small" if tree.get("data") == "digits" else "wrn-28-2"
    return json.dumps(
        _plain({**tree, "recipe": recipe, "labels": labels, "budget": [steps, minutes]}), sort_keys=True, default=str
    )


def _plain(value: Any) -> Any:
    """1 and 1.0 are the same setting, and so are a tuple and the list that JSON makes of it."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value

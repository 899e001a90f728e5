"""How to run a run again: its request as TOML, and the command that reads it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fewlabels.report.names import DATA
from fewlabels.report.records import Record, flatten
from fewlabels.report.runs import Run

CONFIG = "config.toml"
# What a record tells about the method as a whole, which a request says in `overrides`, one name each.
RESOLVED = ("labeler", "recipe", "terms")
OWN = "own"  # the name a record has for its method's own recipe
NONE = "none"  # how a file says None
BUDGETS = frozenset({"steps", "minutes", "epochs"})
# Sources and networks that only Python can pass.
FROM_PYTHON = {"arrays": "arrays", "own": "a network of one's own"}
# A command repeats only what differs from these.
DEFAULTS: dict[str, object] = {
    "device": "auto",
    "precision": "auto",
    "devices": 1,
    "nodes": 1,
    "compile": False,
    "model": "auto",
    "stratify": "equal",
}


@dataclass(frozen=True)
class Rerun:
    """A request as a TOML file, the commands that do with and without it, and what Python must bring, if anything."""

    toml: str
    commands: tuple[str, ...]
    python: str | None = None


def rerun(run: Run) -> Rerun:
    """How to run it again, from the request in its folder, else from what its record says."""
    record = run.record
    if not record.config:
        return Rerun("", (record.command,) if record.command else ())
    asked = _counted(run.request or from_record(record), record)
    asked.pop("data_dir", None)  # a path of that machine
    source = str(asked["data"])
    python = next((FROM_PYTHON[str(v)] for v in (source, asked.get("model")) if str(v) in FROM_PYTHON), None)
    commands = [f"fewlabels train {shlex.quote(source)} --config {CONFIG}"]
    if not asked.get("overrides"):
        commands.insert(0, command(asked))
    return Rerun(toml(asked), () if python else tuple(commands), python)


def _counted(asked: Mapping[str, Any], record: Record) -> dict[str, Any]:
    """A request that says how many labels. A benchmark's default is a number, which the record knows; a folder's is
    every label there is."""
    leading: dict[str, Any] = {"data": record.data, "method": record.method}
    if asked.get("data", record.data) in DATA and record.labels:
        leading["labels"] = record.labels
    return {**leading, **asked}


def command(asked: Mapping[str, Any]) -> str:
    """The request as a command.

    >>> command({"data": "digits", "method": "rot", "labels": 100, "steps": 200, "device": "auto", "seed": 0})
    'fewlabels train digits --method rot --labels 100 --steps 200 --seed 0'
    >>> command({"data": "letters", "flip": False})
    'fewlabels train letters --no-flip'
    """
    words = ["fewlabels", "train", str(asked["data"])]
    for name, value in asked.items():
        told = name in ("data", "preset", "overrides") or value is None or DEFAULTS.get(name) == value
        if not told:
            option = name.replace("_", "-")
            words += [f"--no-{option}" if value is False else f"--{option}"]
            words += [] if isinstance(value, bool) else [str(value)]
    return shlex.join(words)


def from_record(record: Record) -> dict[str, Any]:
    """A record as a request: its recipe by name, then every setting in force of the recipe, the labeler and the terms.

    All of them, for a recipe of this name may have others by now.

    >>> config = {"data": "svhn", "recipe": {"name": "Recipe", "alpha": 0.5, "ema": None}, "labeler": None, "terms": []}
    >>> from_record(Record("svhn", "rot", 1000, 0, recipe="paper", config=config))
    {'recipe': 'paper', 'data': 'svhn', 'overrides': {'alpha': 0.5, 'ema': None}}
    """
    named = {} if record.recipe in (None, OWN) else {"recipe": record.recipe}
    asked = {name: value for name, value in record.config.items() if name not in RESOLVED and value is not None}
    overrides = {name: value for part in _parts(record.config) for name, value in part.items()}
    if asked.keys() & BUDGETS:
        overrides.pop("epochs", None)  # the recipe's own budget, which did not rule
    return named | asked | ({"overrides": overrides} if overrides else {})


def _parts(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The settings of the recipe, the labeler and each term, one level deep."""
    parts = (config.get("recipe"), config.get("labeler"), *(term for _, term in config.get("terms") or ()))
    return [
        {name: value for name, value in (part or {}).items() if name != "name" and not isinstance(value, Mapping)}
        for part in parts
    ]


def toml(asked: Mapping[str, Any]) -> str:
    """A request as the TOML file that ``fewlabels train --config`` reads.

    >>> print(toml({"data": "svhn", "labels": 1000, "overrides": {"unlabeled_views": ["weak", "strong"]}}), end="")
    data = "svhn"
    labels = 1000
    <BLANKLINE>
    [overrides]
    unlabeled_views = ["weak", "strong"]
    """
    plain = {name: value for name, value in asked.items() if not isinstance(value, Mapping)}
    lines = [f"{name} = {_literal(value)}" for name, value in plain.items()]
    for name, table in asked.items():
        if isinstance(table, Mapping) and table:
            lines += [
                "",
                f"[{name}]",
                *(f"{key} = {_literal(value)}" for key, value in flatten(table).items()),
            ]
    return "\n".join(lines) + "\n"


def _literal(value: Any) -> str:
    """A TOML literal: what JSON writes, and our word for the null that TOML lacks."""
    return json.dumps(NONE if value is None else value, ensure_ascii=False)

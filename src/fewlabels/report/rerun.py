"""How to run a run again: its request as TOML, and the command that reads it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fewlabels.report.records import flatten
from fewlabels.report.runs import Run

CONFIG = "config.toml"
# What a record tells about the method as a whole, which a request says in `overrides`, one name each.
RESOLVED = ("labeler", "recipe", "terms")
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
    if not run.record.config:
        return Rerun("", (run.record.command,) if run.record.command else ())
    asked = dict(run.request or from_record(run.record.config))
    asked.pop("data_dir", None)  # a path of that machine
    source = str(asked.get("data", run.record.data))
    python = next((FROM_PYTHON[str(v)] for v in (source, asked.get("model")) if str(v) in FROM_PYTHON), None)
    commands = [f"fewlabels train {shlex.quote(source)} --config {CONFIG}"]
    if not asked.get("overrides"):
        commands.insert(0, command(asked))
    return Rerun(toml(asked), () if python else tuple(commands), python)


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


def from_record(config: Mapping[str, Any]) -> dict[str, Any]:
    """A record's configuration as a request: every setting of its recipe, labeler and terms becomes an override.

    >>> from_record({"data": "svhn", "recipe": {"name": "Recipe", "alpha": 0.5}, "labeler": None, "terms": []})
    {'data': 'svhn', 'overrides': {'alpha': 0.5}}
    """
    asked = {name: value for name, value in config.items() if name not in RESOLVED and value is not None}
    budget = {"steps", "minutes", "epochs"} & asked.keys()
    overrides: dict[str, Any] = {}
    for part in (config.get("recipe"), config.get("labeler"), *(term for _, term in config.get("terms") or ())):
        for name, value in (part or {}).items():
            mine = name not in ("name", "epochs") if budget else name != "name"
            if mine and value is not None and not isinstance(value, Mapping):
                overrides[name] = value
    return asked | ({"overrides": overrides} if overrides else {})


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
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in plain.items()]
    for name, table in asked.items():
        if isinstance(table, Mapping) and table:
            lines += [
                "",
                f"[{name}]",
                *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in flatten(table).items()),
            ]
    return "\n".join(lines) + "\n"

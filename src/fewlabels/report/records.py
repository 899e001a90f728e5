"""Run records: one JSON object a run, the only thing tables, figures and pages are made from.

Fields that a run could not know are None. The schema's version is the one thing read strictly, so that a number is
never taken for what it is not.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.errors import InputError
from fewlabels.report.names import thousands
from fewlabels.report.statistics import Interval, wilson

SCHEMA_VERSION = 1
Column = tuple[float | None, ...]


@dataclass(frozen=True)
class Budget:
    """What a run was allowed to spend."""

    steps: int | None = None
    images: int | None = None
    epochs: int | None = None
    minutes: float | None = None

    def __str__(self) -> str:
        if self.minutes is not None:
            return f"{self.minutes:g} minutes"
        return "budget unknown" if self.steps is None else f"{thousands(self.steps)} steps"


@dataclass(frozen=True)
class Record:
    """One run: what it was asked, what came out, and where it ran. Errors are fractions."""

    data: str
    method: str
    labels: int
    seed: int
    recipe: str | None = None  # its name; "own" is the method's
    unlabeled: int | None = None
    preset: str | None = None
    model: str | None = None
    budget: Budget = field(default_factory=Budget)
    test_error: float | None = None  # at the lowest validation error
    validation_error: float | None = None
    terminal_test_error: float | None = None
    terminal_validation_error: float | None = None
    best_epoch: int | None = None
    test_interval: Interval | None = None
    test_total: int | None = None
    classes: tuple[str, ...] = ()
    confusion: tuple[tuple[int, ...], ...] | None = None  # on the test part; rows are the truth
    packed_wrong: str | None = None  # base64 of the packed per-image flags of the validation part
    validation_total: int | None = None
    curve: Mapping[str, Column] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    images_per_second: float | None = None
    device: str | None = None
    precision: str | None = None
    world_size: int = 1
    versions: Mapping[str, str] = field(default_factory=dict)
    commit: str | None = None
    started: str | None = None
    command: str | None = None

    @property
    def reported_error(self) -> float | None:
        """The test error at the lowest validation error; the terminal one of a run that had no validation images."""
        return self.terminal_test_error if self.test_error is None else self.test_error

    @property
    def terminal(self) -> bool:
        """Whether ``reported_error`` is the terminal one."""
        return self.test_error is None and self.terminal_test_error is not None

    @property
    def uses_unlabeled(self) -> bool:
        """Whether anything looked at the unlabelled images. A record that does not say is taken to have looked."""
        return "labeler" not in self.config or bool(self.config["labeler"] or self.config.get("terms"))

    @property
    def validation_wrong(self) -> NDArray[np.bool_] | None:
        """Which validation images were mistaken at the lowest validation error."""
        if self.packed_wrong is None or self.validation_total is None:
            return None
        packed = np.frombuffer(base64.b64decode(self.packed_wrong), dtype=np.uint8)
        return np.unpackbits(packed, count=self.validation_total).astype(np.bool_)

    def setting(self, *names: str) -> float | None:
        """The first number in the configuration that goes by one of these names, in whatever table it stands.

        >>> Record("digits", "rot", 100, 0, config={"recipe": {"alpha": 0.5}}).setting("alpha")
        0.5
        """
        flat = flatten(self.config)
        for name in names:
            for key, value in flat.items():
                if f".{key}".endswith(f".{name}") and isinstance(value, int | float) and not isinstance(value, bool):
                    return float(value)
        return None


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested configuration as one level of dotted names.

    >>> flatten({"method": "rot", "recipe": {"alpha": 1.0}})
    {'method': 'rot', 'recipe.alpha': 1.0}
    """
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def read_records(paths: Iterable[Path]) -> tuple[Record, ...]:
    """Every run record in these ``.jsonl`` or ``.json`` files, and in every such file below these folders."""
    return tuple(record for path in paths for file in record_files(path) for _, record in read_file(file))


def record_files(path: Path) -> list[Path]:
    """The files that may hold records: the path itself, or the ``.jsonl`` and ``record.json`` files below a folder."""
    if not path.exists():
        raise InputError(f"{path} does not exist: give a run folder, a record file or a folder of them")
    if path.is_file():
        return [path]
    lines = [file for file in path.rglob("*.jsonl") if file.name != "metrics.jsonl"]
    return sorted([*lines, *path.rglob("record.json")])


def read_file(path: Path) -> Iterator[tuple[str, Record]]:
    """The records of one file and where each stands. Lines of another kind than ``run`` are passed over."""
    text = path.read_text(encoding="utf-8")
    lines = [text] if path.suffix == ".json" else text.splitlines()
    for number, line in enumerate(lines, start=1):
        where = str(path) if path.suffix == ".json" else f"{path}:{number}"
        if line.strip() and (tree := read_object(line, where)).get("kind") == "run":
            yield where, parse_record(tree, where)


def read_object(line: str, where: str) -> dict[str, Any]:
    """A line of a record file as the JSON object it must be."""
    try:
        tree = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where} is not JSON ({error.msg}, character {error.pos}): mend or remove the line") from None
    if not isinstance(tree, dict):
        raise InputError(f"{where} holds a {type(tree).__name__}, not an object: a record is one JSON object")
    return tree


def parse_record(tree: Mapping[str, Any], where: str = "the record") -> Record:
    """A record from its JSON object.

    >>> record = parse_record({"schema_version": 1, "data": "digits", "method": "rot", "labels": 100, "seed": 0})
    >>> record.test_error is None
    True
    """
    version = tree.get("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{where} has schema version {version!r}, and this fewlabels reads {SCHEMA_VERSION}: "
            "use the one that wrote it"
        )
    missing = [key for key in ("data", "method", "labels", "seed") if tree.get(key) is None]
    if missing:
        raise InputError(f"{where} lacks {', '.join(missing)}: every run record needs data, method, labels and seed")
    try:
        return _record(tree)
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise InputError(f"{where} has a field of the wrong shape ({error}): write the record anew") from error


def _record(tree: Mapping[str, Any]) -> Record:
    terminal, counts, budget = (tree.get(key) or {} for key in ("terminal", "test_counts", "budget"))
    classes = tree.get("classes") or ()
    return Record(
        data=str(tree["data"]),
        method=str(tree["method"]),
        labels=int(tree["labels"]),
        seed=int(tree["seed"]),
        recipe=text(tree.get("recipe")),
        unlabeled=whole(tree.get("unlabeled")),
        preset=text(tree.get("preset")),
        model=text(tree.get("model")),
        budget=Budget(
            steps=whole(budget.get("steps")),
            images=whole(budget.get("images")),
            epochs=whole(budget.get("epochs")),
            minutes=number(budget.get("minutes")),
        ),
        test_error=number(tree.get("test_error")),
        validation_error=number(tree.get("validation_error")),
        terminal_test_error=number(terminal.get("test_error")),
        terminal_validation_error=number(terminal.get("validation_error")),
        best_epoch=whole(tree.get("best_epoch")),
        test_interval=_interval(tree.get("test_interval"), counts),
        test_total=whole(counts.get("total")),
        classes=tuple(str(name) for name in classes),
        confusion=tuple(tuple(int(n) for n in row) for row in tree["confusion"]) if tree.get("confusion") else None,
        packed_wrong=text(tree.get("validation_wrong")),
        validation_total=whole(tree.get("validation_total")),
        curve={key: column(values) for key, values in (tree.get("curve") or {}).items()},
        config=dict(tree.get("config") or {}),
        seconds=number(tree.get("seconds")),
        images_per_second=number(tree.get("images_per_second")),
        device=text(tree.get("device")),
        precision=text(tree.get("precision")),
        world_size=whole(tree.get("world_size")) or 1,
        versions={key: str(value) for key, value in (tree.get("versions") or {}).items()},
        commit=text(tree.get("commit")),
        started=text(tree.get("started")),
        command=text(tree.get("command")),
    )


def _interval(ends: Any, counts: Mapping[str, Any]) -> Interval | None:
    if ends:
        return Interval(float(ends[0]), float(ends[1]))
    return wilson(int(counts["wrong"]), int(counts["total"])) if counts.get("total") else None


def text(value: Any) -> str | None:
    """A string, or None."""
    return None if value is None else str(value)


def whole(value: Any) -> int | None:
    """A whole number, or None; a list counts its members."""
    if isinstance(value, list):
        return len(value)
    return None if value is None else int(value)


def number(value: Any) -> float | None:
    """A finite number, or None: a loss that became NaN is a gap in its curve."""
    return float(value) if value is not None and math.isfinite(value) else None


def column(values: Iterable[Any]) -> Column:
    """Numbers and gaps."""
    return tuple(number(value) for value in values)

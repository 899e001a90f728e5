"""Run folders: a record with everything around it, the epochs, the plan, the pictures."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from fewlabels.errors import InputError
from fewlabels.report.records import (
    Column,
    Record,
    column,
    flatten,
    number,
    parse_record,
    read_file,
    record_files,
    text,
    whole,
)

CURVES = (
    *("epoch", "step", "images", "loss", "learning_rate", "images_per_second", "validation_error"),
    *("pool", "kept", "transport_cost", "pseudo_label_accuracy", "classifier_accuracy", "collisions", "empty_classes"),
)


@dataclass(frozen=True)
class Plan:
    """The last transport plan: clusters in rows, classes in columns."""

    plan: NDArray[np.float64]
    cost: NDArray[np.float64] | None
    classes: tuple[str, ...]


@dataclass(frozen=True)
class Tile:
    """One picture of the gallery."""

    label: int
    confidence: float
    truth: int | None = None
    name: str | None = None


@dataclass(frozen=True)
class Gallery:
    """A sprite of unlabelled images, tiles in row-major order."""

    image: Path
    tile: tuple[int, int]
    columns: int
    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class PseudoLabels:
    """The labels given at the end; truth is -1 where it is unknown."""

    label: NDArray[np.int64]
    confidence: NDArray[np.float64]
    truth: NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """A record and what its folder adds to it."""

    name: str
    record: Record
    folder: Path | None = None
    request: Mapping[str, Any] = field(default_factory=dict)  # its config.toml
    finished: bool = True
    curve: Mapping[str, Column] = field(default_factory=dict)
    stage_seconds: Mapping[str, float] = field(default_factory=dict)
    labels_per_class: tuple[int, ...] = ()  # after the last matching
    cluster_sizes: tuple[int, ...] = ()
    pool: int | None = None
    plan: Plan | None = None
    gallery: Gallery | None = None
    pseudo_labels: PseudoLabels | None = None


def read_runs(paths: Iterable[Path]) -> tuple[Run, ...]:
    """The runs of these run folders, record files, or folders of either; one found both ways comes from its folder."""
    paths = tuple(paths)
    found = [run for path in paths for run in _runs_at(path)]
    if not found:
        raise InputError(
            f"no run was found in {', '.join(map(str, paths)) or 'an empty list of paths'}: "
            "a run folder holds record.json or metrics.jsonl, a record file JSON lines of kind run"
        )
    runs: list[Run] = []
    for run in sorted(found, key=lambda run: run.folder is None):  # stable: folders first, they know more
        if not any(_same(run, other) for other in runs):
            runs.append(run)
    return tuple(runs)


def _same(run: Run, other: Run) -> bool:
    if run.folder is not None and other.folder is not None:
        return run.folder == other.folder
    return run.finished and other.finished and run.record == other.record


def is_run(folder: Path) -> bool:
    """Whether this is a run folder, finished or not."""
    return (folder / "record.json").is_file() or (folder / "metrics.jsonl").is_file()


def _runs_at(path: Path) -> list[Run]:
    if not path.exists():
        raise InputError(f"{path} does not exist: give a run folder, a record file or a folder of them")
    if path.is_dir() and is_run(path):
        return [read_run(path)]
    if path.name == "record.json":
        return [read_run(path.parent)]
    if path.is_file():
        return [Run(Path(where).name, record, curve=record.curve) for where, record in read_file(path)]
    folders = sorted({file.parent for name in ("record.json", "metrics.jsonl") for file in path.rglob(name)})
    files = [file for file in record_files(path) if file.parent not in folders]
    return [run for place in (*folders, *files) for run in _runs_at(place)]


def read_run(folder: Path) -> Run:
    """One run folder. Without ``record.json`` it is a run that goes on, or was cut off: what it measured is shown."""
    lines = _epochs(folder / "metrics.jsonl")
    config = _config(folder / "config.toml")
    finished = (folder / "record.json").is_file()
    record = _finished(folder / "record.json") if finished else _unfinished(config, lines)
    labelled = [line for line in lines if line.get("labels_per_class")]
    last: Mapping[str, Any] = labelled[-1] if labelled else {}
    return Run(
        name=folder.resolve().name,
        record=record,
        folder=folder.resolve(),
        request=config,
        finished=finished,
        curve={key: column(_value(line, key) for line in lines) for key in CURVES} if lines else record.curve,
        stage_seconds=_stages(lines),
        labels_per_class=tuple(last.get("labels_per_class") or ()),
        cluster_sizes=tuple(last.get("cluster_sizes") or ()),
        pool=whole(last.get("pool")),
        plan=_plan(folder / "plan.json"),
        gallery=_gallery(folder),
        pseudo_labels=_pseudo_labels(folder / "pseudo_labels.npz"),
    )


def _finished(path: Path) -> Record:
    return parse_record(_json(path), str(path))


def _unfinished(config: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> Record:
    flat = {key.rpartition(".")[2]: value for key, value in reversed(flatten(config).items())}
    errors = [(error, line) for line in lines if (error := number(line.get("validation_error"))) is not None]
    nothing: tuple[float | None, Mapping[str, Any]] = (None, {})
    best = min(errors, key=lambda pair: pair[0], default=nothing)
    return Record(
        data=str(flat.get("data", flat.get("source", "unknown data"))),
        method=str(flat.get("method", "unknown method")),
        labels=whole(flat.get("labels")) or 0,
        seed=whole(flat.get("seed")) or 0,
        preset=text(flat.get("preset")),
        validation_error=best[0],
        best_epoch=whole(best[1].get("epoch")),
        config=config,
        seconds=number(lines[-1].get("seconds")) if lines else None,
    )


def _value(line: Mapping[str, Any], key: str) -> Any:
    value = line.get(key)
    return len(value) if isinstance(value, list) else value


def _epochs(path: Path) -> list[dict[str, Any]]:
    """One line an epoch, in order. After a resume an epoch's later line counts; a torn last line is being written."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    by_epoch: dict[int, dict[str, Any]] = {}
    for position, line in enumerate(lines, start=1):
        try:
            tree = json.loads(line)
            by_epoch[int(tree["epoch"])] = tree
        except (KeyError, TypeError, ValueError) as error:
            if position < len(lines):
                raise InputError(f"{path}:{position} is not a line of metrics ({error}): mend or remove it") from None
    return [by_epoch[epoch] for epoch in sorted(by_epoch)]


def _stages(lines: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for line in lines:
        for stage, seconds in (line.get("stage_seconds") or {}).items():
            totals[stage] = totals.get(stage, 0.0) + (number(seconds) or 0.0)
    return totals


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """A file that is not what its name says becomes one sentence with its path."""
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, BadZipFile) as error:  # JSON, TOML and Unicode errors are ValueErrors
        what = f"lacks {error}" if isinstance(error, KeyError) else f"cannot be read ({error})"
        raise InputError(f"{path} {what}: mend it, or remove it and the page goes without") from error


def _config(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    with _reading(path):
        return tomllib.loads(path.read_text(encoding="utf-8"))


def _json(path: Path) -> dict[str, Any]:
    with _reading(path):
        tree = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(tree, dict):
            raise TypeError(f"it holds a {type(tree).__name__}, not an object")
        return tree


def _plan(path: Path) -> Plan | None:
    if not path.is_file():
        return None
    tree = _json(path)
    with _reading(path):
        plan = np.array(tree["plan"], dtype=np.float64)
        cost = np.array(tree["cost"], dtype=np.float64) if tree.get("cost") else None
        if plan.ndim != 2 or (cost is not None and cost.shape != plan.shape):
            raise ValueError(f"the plan is {plan.shape}, the cost {None if cost is None else cost.shape}")
    return Plan(plan, cost, tuple(str(name) for name in tree.get("classes") or ()))


def _gallery(folder: Path) -> Gallery | None:
    listing, image = folder / "gallery.json", folder / "gallery.png"
    if not (listing.is_file() and image.is_file()):
        return None
    tree = _json(listing)
    with _reading(listing):
        tiles = tuple(
            Tile(int(item["label"]), float(item["confidence"]), whole(item.get("truth")), text(item.get("name")))
            for item in tree["items"]
        )
        width, height = tree["tile"]
        return Gallery(image, (int(width), int(height)), int(tree["columns"]), tiles)


def _pseudo_labels(path: Path) -> PseudoLabels | None:
    if not path.is_file():
        return None
    with _reading(path), np.load(path, allow_pickle=False) as arrays:
        label = arrays["label"].astype(np.int64)
        truth = arrays["truth"].astype(np.int64) if "truth" in arrays else np.full_like(label, -1)
        return PseudoLabels(label, arrays["confidence"].astype(np.float64), truth)

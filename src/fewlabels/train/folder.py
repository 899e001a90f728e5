"""A run's folder: what stands where, and how it gets there.

config.toml          the request
metrics.jsonl        one line an epoch
checkpoint.fewlabels everything the rest of the run depends on; gone when the run has ended
record.json          the result, once there is one
weights.safetensors  the weights at the lowest validation error, with class names and preprocessing
plan.json  gallery.png  gallery.json  pseudo_labels.npz   the last labelling, for the report
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewlabels.errors import InputError, RunError


@dataclass(frozen=True)
class RunFolder:
    """Where a run writes."""

    path: Path

    @property
    def config(self) -> Path:
        """The request."""
        return self.path / "config.toml"

    @property
    def metrics(self) -> Path:
        """One line an epoch."""
        return self.path / "metrics.jsonl"

    @property
    def checkpoint(self) -> Path:
        """Where the run stands."""
        return self.path / "checkpoint.fewlabels"

    @property
    def record(self) -> Path:
        """The result."""
        return self.path / "record.json"

    @property
    def weights(self) -> Path:
        """What ``predict`` needs."""
        return self.path / "weights.safetensors"

    @property
    def finished(self) -> bool:
        """Whether the run has ended."""
        return self.record.is_file()

    def refuse_existing(self) -> None:
        """Raise if something is there already."""
        if self.path.exists():
            raise InputError(
                f"{self.path} exists and is never overwritten: choose another --out, or `fewlabels resume`"
            )

    def append_metrics(self, line: dict[str, Any]) -> None:
        """Add an epoch."""
        try:
            with self.metrics.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise RunError(f"could not write {self.metrics}: {error}. Free some space and resume") from error

    def drop_metrics_after(self, epoch: int) -> None:
        """Forget epochs that a resumed run does again, and a line that was cut off."""
        if self.metrics.is_file():
            lines = self.metrics.read_text(encoding="utf-8").splitlines()[:epoch]
            write_text(self.metrics, "".join(line + "\n" for line in lines))

    def read_metrics(self) -> list[dict[str, Any]]:
        """All epochs so far."""
        if not self.metrics.is_file():
            return []
        return [json.loads(line) for line in self.metrics.read_text(encoding="utf-8").splitlines()]


def write_text(path: Path, text: str) -> None:
    """Write a small file whole or not at all."""
    beside = path.with_name(path.name + ".part")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        raise RunError(f"could not write {path}: {error}. Free some space and resume") from error


def free_name(parent: Path, name: str) -> Path:
    """``parent/name``, or the first of ``name-2``, ``name-3`` ... that is free."""
    path, n = parent / name, 1
    while path.exists():
        n += 1
        path = parent / f"{name}-{n}"
    return path

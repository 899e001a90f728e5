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
        """Raise if something is there already, a link that leads nowhere too."""
        if os.path.lexists(self.path):
            raise InputError(
                f"{self.path} exists and is never overwritten: choose another --out, or `fewlabels resume`"
            )

    def make(self) -> None:
        """Make the folder, which must not exist."""
        self.refuse_existing()
        try:
            self.path.mkdir(parents=True)
        except (OSError, ValueError) as error:  # a ValueError where a name holds a null byte
            raise InputError(f"no run folder can be made at {self.path} ({error}): choose another --out") from None

    def append_metrics(self, line: dict[str, Any]) -> None:
        """Add an epoch; it is on the disk before the checkpoint that counts it."""
        try:
            with self.metrics.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunError(f"could not write {self.metrics}: {error}. Free some space and resume") from error

    def drop_metrics_after(self, epoch: int) -> None:
        """Forget epochs that a resumed run does again, and a line that was cut off; refuse to go on without others."""
        there = self.metrics.is_file()
        lines = self.metrics.read_text(encoding="utf-8", errors="replace").splitlines() if there else []
        if len(lines) < epoch or not all(map(_is_json, lines[:epoch])):
            raise InputError(
                f"{self.metrics} is damaged: the checkpoint stands after epoch {epoch} and not all of these epochs can "
                "be read from it; restore it from a copy, or start a new run"
            )
        write_text(self.metrics, "".join(line + "\n" for line in lines[:epoch]))

    def read_metrics(self) -> list[dict[str, Any]]:
        """All epochs so far."""
        if not self.metrics.is_file():
            return []
        return [json.loads(line) for line in self.metrics.read_text(encoding="utf-8").splitlines()]

    def read_record(self) -> dict[str, Any]:
        """The result."""
        try:
            found = json.loads(self.record.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{self.record} is damaged ({error}): restore it from a copy") from None
        if not isinstance(found, dict) or found.get("kind") != "run":
            raise InputError(f"{self.record} is not the record of a run: restore it from a copy")
        return found


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


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
    while os.path.lexists(path):
        n += 1
        path = parent / f"{name}-{n}"
    return path

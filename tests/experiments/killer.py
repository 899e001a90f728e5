"""Runs that last long enough to be interrupted, and whoever interrupts them."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterable
from pathlib import Path

EPOCHS, STEPS = 40, 4


class Killer(threading.Thread):
    """Kills one of two workers once both are training and its run has a checkpoint."""

    def __init__(self, runs: Path) -> None:
        super().__init__(daemon=True)
        self.runs = runs
        self.workers: dict[str, int] = {}
        self.killed = ""
        self.kept: list[str] = []  # the lines of the killed run's metrics
        self.config_written = 0

    def run(self) -> None:
        ends = time.monotonic() + 100
        while not self.killed and time.monotonic() < ends:
            time.sleep(0.02)
            training = {name: pid for name, pid in self._held().items() if len(metrics(self.runs / name)) >= 3}
            if len(set(training.values())) == 2:
                self.workers = training
                self._kill(min(training, key=lambda name: len(metrics(self.runs / name))))

    def _kill(self, name: str) -> None:
        os.kill(self.workers[name], signal.SIGSTOP)  # so that what is read now is what it left
        self.kept = metrics(self.runs / name)
        self.config_written = (self.runs / name / "config.toml").stat().st_mtime_ns
        os.kill(self.workers[name], signal.SIGKILL)
        self.killed = name

    def check(self, finished: Iterable[str]) -> None:
        """Two trained at once; the run of the one that was killed was gone on with by another, not begun again."""
        assert len(set(self.workers.values())) == 2, "two workers trained at the same time"
        assert self.killed in finished
        folder = self.runs / self.killed
        assert (folder / "config.toml").stat().st_mtime_ns == self.config_written
        lines = metrics(folder)
        kept = self.kept[:-1]  # the last epoch's checkpoint may not have been written yet
        assert len(kept) >= 2
        assert lines[: len(kept)] == kept  # with their times: these epochs were not trained anew
        assert json.loads(lines[-1])["epoch"] == EPOCHS
        assert holder(self.runs / f"{self.killed}.lock") != self.workers[self.killed]

    def _held(self) -> dict[str, int]:
        found = {path.stem: holder(path) for path in self.runs.glob("*.lock")}
        return {name: pid for name, pid in found.items() if pid and not (self.runs / name / "record.json").exists()}


def holder(lock: Path) -> int | None:
    """The process that trains a run, or did so last."""
    match = re.match(r"process (\d+) on ", lock.read_text())
    return int(match[1]) if match else None


def metrics(run: Path) -> list[str]:
    """The whole lines of what a run has measured so far."""
    file = run / "metrics.jsonl"
    return file.read_text().split("\n")[:-1] if file.exists() else []

"""What a reproduction tells: a line for each run that ends and, on a terminal, what is running and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from fewlabels.report.names import duration, percent
from fewlabels.report.records import Record

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@dataclass(frozen=True)
class State:
    """Where a reproduction stands."""

    total: int  # runs this time
    ended: int
    running: Mapping[str, float]  # by name, the part of each that is done
    fraction: float  # of all images
    seconds_left: float | None


@runtime_checkable
class Watch(Protocol):
    """Whoever is told."""

    def say(self, text: str) -> None:
        """A line of text."""

    def show(self, state: State) -> None:
        """Where things stand, about once a second."""

    def close(self) -> None:
        """There is nothing more to tell."""


class Silent:
    """Tells nobody."""

    def say(self, text: str) -> None:
        """Nothing."""

    def show(self, state: State) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Lines:
    """Lines alone, for a file or a pipe."""

    def say(self, text: str) -> None:
        """Print it."""
        print(text, flush=True)

    def show(self, state: State) -> None:
        """Nothing: a log is no place for progress."""

    def close(self) -> None:
        """Nothing."""


@dataclass
class Live:
    """Lines above a bar for the whole and one for each run."""

    progress: Progress
    whole: TaskID
    tasks: dict[str, TaskID] = field(default_factory=dict)

    @classmethod
    def start(cls) -> Live:
        """Draw the bar of the whole."""
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (BarColumn(bar_width=24), TaskProgressColumn(), TextColumn("{task.description}"))
        progress = Progress(*columns, transient=True)
        progress.start()
        return cls(progress, progress.add_task("", total=1.0))

    def say(self, text: str) -> None:
        """Print above the bars."""
        self.progress.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def show(self, state: State) -> None:
        """Redraw."""
        left = "" if state.seconds_left is None else f", {duration(state.seconds_left)} left"
        self.progress.update(
            self.whole, completed=state.fraction, description=f"{state.ended} of {state.total} runs{left}"
        )
        for name in self.tasks.keys() - state.running.keys():
            self.progress.remove_task(self.tasks.pop(name))
        for name, part in state.running.items():
            if name not in self.tasks:
                self.tasks[name] = self.progress.add_task(name, total=1.0)
            self.progress.update(self.tasks[name], completed=part)

    def close(self) -> None:
        """Take the bars away."""
        self.progress.stop()


def pick() -> Live | Lines:
    """What suits where the output goes."""
    return Live.start() if sys.stdout.isatty() else Lines()


def ended(name: str, record: Record) -> str:
    """One run that has ended."""
    error = "no test error" if record.reported_error is None else f"test error {percent(record.reported_error)} %"
    took = "" if record.seconds is None else f", {duration(record.seconds)}"
    return f"{name}: {error}{took}"


@dataclass
class Pace:
    """The time left, from how fast the images of this sitting went by."""

    began: float = field(default_factory=time.monotonic)
    at_first: float | None = None

    def left(self, done: float, total: float) -> float | None:
        """Seconds until ``done`` is ``total``; None before anything was done in this sitting."""
        if self.at_first is None:
            self.at_first = done
        gained = done - self.at_first
        return None if gained <= 0 else (total - done) * (time.monotonic() - self.began) / gained

"""What a run tells: a live line on a terminal, JSON lines for machines, a short summary otherwise."""

from __future__ import annotations

import dataclasses
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewlabels.report.names import data_name, duration, method_name, percent, thousands
from fewlabels.train.run import Epoch, Event, Finished, Started, Stopped

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@dataclass
class Lines:
    """One JSON object a line: ``started``, ``epoch``, and ``finished`` or ``stopped``."""

    def __call__(self, event: Event) -> None:
        """Print the event."""
        match event:
            case Started():
                told = dataclasses.asdict(event)
                line = {"event": "started", **told, "folder": str(event.folder)}
            case Epoch():
                line = {"event": "epoch", **event.metrics, "fraction": event.fraction}
            case Finished():
                line = {"event": "finished", "folder": str(event.folder), "record": event.record}
            case Stopped():
                line = {"event": "stopped", "folder": str(event.folder)}
        print(json.dumps(line, default=str), flush=True)


@dataclass
class Summary:
    """What was asked and what came out, in a few lines."""

    noted: bool = False

    def __call__(self, event: Event) -> None:
        """Print the beginning and the end."""
        match event:
            case Started():
                print(headline(event), flush=True)
            case Finished():
                print(conclusion(event.folder, event.record), flush=True)
            case Epoch():
                self._note(event.metrics)
            case Stopped():
                pass

    def _note(self, metrics: dict[str, Any]) -> None:
        """Say once a run what a person should know of the labels."""
        if "note" in metrics and not self.noted:
            self.noted = True
            print(f"epoch {metrics['epoch']}: {metrics['note']}", flush=True)


@dataclass
class Live:
    """A summary, and in between one line that is redrawn after each epoch."""

    bar: Progress | None = None
    task: TaskID | None = None
    summary: Summary = field(default_factory=Summary)

    def __call__(self, event: Event) -> None:
        """Draw the event. The bar is made here, in the process that draws it."""
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        if isinstance(event, Finished | Stopped) and self.bar is not None:
            self.bar.stop()  # which gives the cursor back
        self.summary(event)
        if isinstance(event, Started):
            columns = (BarColumn(bar_width=24), TaskProgressColumn(), TextColumn("{task.description}"))
            self.bar = Progress(*columns, TextColumn("left"), TimeRemainingColumn(elapsed_when_finished=True))
            self.task = self.bar.add_task("first epoch", total=1.0)
            self.bar.start()
        elif isinstance(event, Epoch) and self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=event.fraction, description=epoch_line(event.metrics))


def pick(*, as_json: bool, quiet: bool) -> Lines | Live | Summary:
    """What suits where the output goes."""
    if as_json:
        return Lines()
    return Live() if sys.stdout.isatty() and not quiet else Summary()


def headline(event: Started) -> str:
    """What a run is about to do."""
    config, budget = event.config, event.budget
    length = _minutes(budget.minutes) if budget.steps is None else f"{thousands(budget.steps)} steps"
    several = f", {event.world_size} processes" if event.world_size > 1 else ""
    name = data_name(Path(config.data).name)
    lines = [
        f"{method_name(config.method)} on {name}: {thousands(event.labeled)} labelled, {thousands(event.unlabeled)} "
        f"unlabelled, {thousands(event.validation)} validation images",
        f"{length} on {event.device}, {event.precision}{several}; into {event.folder}",
    ]
    if not event.validation:
        lines.append("too few labels for a validation part: only the terminal error will be reported")
    if event.epoch:
        lines.append(f"going on after epoch {event.epoch}")
    return "\n".join(lines)


def _minutes(count: float | None) -> str:
    return f"{count:g} minute{'' if count == 1 else 's'}"


def epoch_line(metrics: dict[str, Any]) -> str:
    """One epoch: its number, loss, validation error and speed."""
    parts = [f"epoch {metrics['epoch']}", f"loss {metrics['loss']:.3f}"]
    if metrics.get("validation_error") is not None:
        parts.append(f"validation error {percent(metrics['validation_error'])} %")
    if metrics.get("pseudo_label_accuracy") is not None:
        parts.append(f"labels right {percent(metrics['pseudo_label_accuracy'], 1)} %")
    parts.append(f"{thousands(metrics['images_per_second'])} images/s")
    return "  ".join(parts)


def conclusion(folder: Path, record: dict[str, Any]) -> str:
    """What came out."""
    lines = []
    terminal = record["terminal"]["test_error"]
    if record["test_error"] is not None:
        low, high = record["test_interval"]
        lines.append(
            f"test error {percent(record['test_error'])} % (95 % interval {percent(low)} to {percent(high)}) at the "
            f"lowest validation error, {percent(record['validation_error'])} % after epoch {record['best_epoch']}; "
            f"at the end {percent(terminal)} %"
        )
    elif record["validation_error"] is not None:
        lines.append(
            f"validation error {percent(record['validation_error'])} % after epoch {record['best_epoch']}; no test part"
        )
    elif terminal is not None:
        lines.append(f"test error {percent(terminal)} % at the end (no validation part, so no epoch was chosen)")
    if record["config"]["labeler"] is not None:
        kept = record["curve"].get("kept")
        if kept is None:
            lines.append("no pseudo-label was made: the warm-up took the whole budget; raise it, or lower --warmup")
        elif not any(kept):
            lines.append("no pseudo-label was kept: none was as sure as --threshold asks; lower it")
    lines.append(f"{thousands(record['steps'])} steps in {duration(record['seconds'])}; everything is in {folder}")
    return "\n".join(lines)

"""Several runs side by side: repetitions averaged, each error with its interval on one common scale."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from fewlabels.report.charts import Drawn, Tick
from fewlabels.report.curves import comparison_charts
from fewlabels.report.grouping import Group, group_runs
from fewlabels.report.names import data_name, duration, labels_name, method_name, percent
from fewlabels.report.records import Budget, Record
from fewlabels.report.runs import Run
from fewlabels.report.scale import Scale, nice
from fewlabels.report.statistics import Interval, spread
from fewlabels.report.view import setting

LINES = 8  # as many groups as there are colours


@dataclass(frozen=True)
class Whisker:
    """An error and its interval, in percent of the common scale."""

    at: float
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """A run, or the mean of a group of repetitions."""

    name: str
    facts: str
    error: str
    interval: str
    whisker: Whisker | None
    key: str | None = None  # of the run's own part of the page
    mean: bool = False
    tone: int | None = None


@dataclass(frozen=True)
class Comparison:
    """Groups of runs in the order of their errors, the scale they share, their curves."""

    lines: tuple[Line, ...]
    ticks: tuple[Tick, ...]
    charts: tuple[Drawn, ...]
    left_out: int  # groups without a curve of their own


def compare(runs: Sequence[Run], keys: Sequence[str]) -> Comparison:
    """Put runs of one kind together, the lowest error first."""
    by_record = {id(run.record): (run, key) for run, key in zip(runs, keys, strict=True)}
    groups = sorted(_groups([run.record for run in runs]), key=_order)
    scale = _scale([run.record for run in runs])
    named = [(_group_name(group, groups), group) for group in groups]
    lines: list[Line] = []
    for tone, (name, group) in enumerate(named):
        members = [by_record[id(record)] for record in group.records]
        lines.append(_group_line(name, group, scale, tone if tone < LINES else None))
        lines += [_run_line(run, key, scale) for run, key in members]
    charts = comparison_charts([(name, _with_curves(group, by_record)) for name, group in named[:LINES]])
    ticks = () if scale is None else tuple(Tick(scale.percent(tick), f"{tick:g}") for tick in scale.ticks)
    return Comparison(tuple(lines), ticks, charts, max(0, len(named) - LINES))


def _groups(records: Sequence[Record]) -> list[Group]:
    """Repetitions; groups of the same method and data learn what sets them apart. Nothing is left out, not even a seed
    that was run twice: it becomes a group of its own."""
    asked: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        asked.setdefault((record.data, record.method, record.labels, record.preset), []).append(record)
    found: list[Group] = []
    for alike in asked.values():
        left = alike
        while left:
            groups = group_runs(left)
            taken = {id(record) for group in groups for record in group.records}
            found += groups
            left = [record for record in left if id(record) not in taken]
    return found


def _order(group: Group) -> tuple[str, int, float]:
    errors = [r.reported_error for r in group.records if r.reported_error is not None]
    return group.records[0].data, group.records[0].labels, spread(errors).mean if errors else float("inf")


def _group_name(group: Group, groups: Sequence[Group]) -> str:
    """The method, and whatever else of data, labels and preset is not the same for all."""
    first, firsts = group.records[0], [other.records[0] for other in groups]
    parts = [method_name(first.method)]
    if len({r.data for r in firsts}) > 1:
        parts.append(data_name(first.data))
    if len({r.labels for r in firsts}) > 1:
        parts.append(labels_name(first.labels))
    if len({r.preset for r in firsts}) > 1:
        parts.append(first.preset or "no preset")
    return ", ".join([*parts, *([group.apart] if group.apart else [])])


def _scale(records: Sequence[Record]) -> Scale | None:
    """One scale, in percent, that every interval fits on."""
    ends = [100 * value for r in records if r.reported_error is not None for value in _ends(r)]
    return nice(min(ends), max(ends)) if ends else None


def _ends(record: Record) -> Interval:
    error = record.reported_error or 0.0
    return Interval(error, error) if record.test_interval is None else record.test_interval


def _group_line(name: str, group: Group, scale: Scale | None, tone: int | None) -> Line:
    errors = [r.reported_error for r in group.records if r.reported_error is not None]
    first = group.records[0]
    facts = ", ".join(part for part in (setting(first), _budget(first)) if part)
    if not errors or scale is None:
        return Line(name, facts, "–", "not ended", None, mean=True, tone=tone)
    mean, deviation, n = spread(errors)
    half = deviation or 0.0
    whisker = Whisker(*(scale.percent(100 * value) for value in (mean, mean - half, mean + half)))
    told = f"n = {n}" if deviation is None else f"± {percent(deviation)}, n = {n}"
    if any(r.terminal for r in group.records):
        told += ", terminal"
    return Line(name, facts, percent(mean), told, whisker, mean=True, tone=tone)


def _budget(record: Record) -> str:
    return "" if record.budget == Budget() else str(record.budget)


def _run_line(run: Run, key: str, scale: Scale | None) -> Line:
    record = run.record
    time = "" if record.seconds is None else f", {duration(record.seconds)}"
    facts = f"{run.name}{time}"
    if record.reported_error is None or scale is None:
        state = "no test part" if run.finished else "not ended"
        return Line(f"seed {record.seed}", facts, "–", state, None, key=key)
    low, high = _ends(record)
    whisker = Whisker(*(scale.percent(100 * value) for value in (record.reported_error, low, high)))
    interval = f"{percent(low)} to {percent(high)}" if record.test_interval else ""
    return Line(f"seed {record.seed}", facts, percent(record.reported_error), interval, whisker, key=key)


def _with_curves(group: Group, by_record: dict[int, tuple[Run, str]]) -> list[Record]:
    """Their records, each with the fullest curve there is of it."""
    return [dataclasses.replace(record, curve=by_record[id(record)][0].curve) for record in group.records]

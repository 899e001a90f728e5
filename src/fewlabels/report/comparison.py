"""Several runs side by side: a block for each data set and number of labels, where errors may share a scale."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fewlabels.report.charts import Drawn, Tick
from fewlabels.report.curves import comparison_charts
from fewlabels.report.grouping import Group, group_runs
from fewlabels.report.names import duration, method_name, percent, thousands
from fewlabels.report.palette import LIGHT
from fewlabels.report.records import Budget, Record
from fewlabels.report.runs import Run
from fewlabels.report.scale import Scale, nice
from fewlabels.report.statistics import spread
from fewlabels.report.view import setting

LINES = len(LIGHT)  # as many groups have curves as there are colours
FEWER = (400, 100, 20)  # rows of a block that must be made smaller
POINTS = 240  # of a curve, shared among the blocks


class Bar(NamedTuple):
    """An error and how far it reaches to either side, in percent."""

    at: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """A run, or the mean of its repetitions. One that ``leads`` begins a group: the only run of it, or the mean."""

    name: str
    facts: str
    error: str
    deviation: str = ""  # over the seeds
    interval: str = ""  # of the test images
    bar: Bar | None = None
    key: str | None = None  # of the run's own part of the page
    leads: bool = False
    tone: int | None = None


@dataclass(frozen=True)
class Block:
    """Runs on the same data with as many labels: groups in the order of their errors, their scale, their curves."""

    title: str
    facts: str  # what all of them share
    rows: tuple[Row, ...]
    scale: Scale
    charts: tuple[Drawn, ...]
    left_out: tuple[str, ...] = ()  # in words

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """The ticks of the scale."""
        return tuple(Tick(self.scale.percent(tick), f"{tick:g}") for tick in self.scale.ticks)

    def smaller(self) -> Iterator[Block]:
        """The block, then with less and less in it, for a page that must stay small."""
        yield self
        leading, seeds = tuple(row for row in self.rows if row.leads), "rows for each seed"
        yield dataclasses.replace(self, rows=leading, left_out=(*self.left_out, seeds))
        for most in FEWER:
            more = len(leading) - most
            kinds = (f"{thousands(more)} kinds of runs of higher errors",) if more > 0 else ()
            yield dataclasses.replace(self, rows=leading[:most], charts=(), left_out=(seeds, "curves", *kinds))


def compare(runs: Sequence[Run], keys: Sequence[str]) -> tuple[Block, ...]:
    """Put runs of one kind together, and kinds on the same data with as many labels into one block."""
    by_record = {id(run.record): (run, key) for run, key in zip(runs, keys, strict=True)}
    blocks: dict[tuple[str, int], list[Group]] = {}
    for group in sorted(_groups([run.record for run in runs]), key=_order):
        blocks.setdefault((group.records[0].data, group.records[0].labels), []).append(group)
    tones: dict[str, int] = {}
    return tuple(_block(groups, by_record, tones, POINTS // len(blocks)) for groups in blocks.values())


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
    errors = _errors(group)
    return group.records[0].data, group.records[0].labels, spread(errors).mean if errors else float("inf")


def _errors(group: Group) -> list[float]:
    return [r.reported_error for r in group.records if r.reported_error is not None]


def _block(groups: Sequence[Group], runs: dict[int, tuple[Run, str]], before: dict[str, int], most: int) -> Block:
    """Groups of one setting; ``before`` are the tones of earlier blocks, so that a method keeps its
    colour; it learns those of this one."""
    firsts = [group.records[0] for group in groups]
    presets, budgets = {record.preset for record in firsts}, {_budget(record) for record in firsts}
    named = dict(zip(_names(groups, with_preset=len(presets) > 1), groups, strict=True))
    tones = _tones(tuple(named), before)
    before |= tones
    rows: list[Row] = []
    for name, group in named.items():
        members = [_run_row(*runs[id(record)]) for record in group.records]
        facts = _budget(group.records[0]) if len(budgets) > 1 else ""
        rows += _group_rows(name, "" if facts in name else facts, group, members, tones.get(name))
    curves = [(name, tones[name], _with_curves(group, runs)) for name, group in named.items() if name in tones]
    more = len(named) - len(curves)
    return Block(
        title=setting(firsts[0]),
        facts=_shared_facts(presets, budgets),
        rows=tuple(rows),
        scale=_scale([row.bar for row in rows if row.bar is not None]),
        charts=comparison_charts(curves, max(2, most)),
        left_out=(f"curves of {thousands(more)} more kinds of runs",) if more > 0 else (),
    )


def _tones(names: Sequence[str], before: Mapping[str, int]) -> dict[str, int]:
    """A colour for as many names as there are colours: the one it had before, or one that is left.

    >>> _tones(("ROT", "VAT"), {"VAT": 0})
    {'VAT': 0, 'ROT': 1}
    """
    kept: dict[int, str] = {}
    for name in names:
        if name in before:
            kept.setdefault(before[name], name)
    new = (name for name in names if name not in kept.values())
    left = (tone for tone in range(LINES) if tone not in kept)
    return {name: tone for tone, name in kept.items()} | dict(zip(new, left, strict=False))


def _names(groups: Sequence[Group], *, with_preset: bool) -> list[str]:
    """A name for each group, no two alike: one whose seeds were all run before says so."""
    names: dict[str, None] = {}
    for group in groups:
        name = _name(group, with_preset)
        while name in names:
            name += ", again"
        names[name] = None
    return list(names)


def _name(group: Group, with_preset: bool) -> str:
    """The method, its preset where there are several, and what sets it apart."""
    preset = group.records[0].preset or "no preset"
    return _joined(method_name(group.records[0].method), preset if with_preset else "", group.apart)


def _shared_facts(presets: set[str | None], budgets: set[str]) -> str:
    (preset,) = presets if len(presets) == 1 else (None,)
    (budget,) = budgets if len(budgets) == 1 else ("",)
    return _joined(f"preset {preset}" if preset else "", budget)


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _budget(record: Record) -> str:
    return "" if record.budget == Budget() else str(record.budget)


def _group_rows(name: str, facts: str, group: Group, members: Sequence[Row], tone: int | None) -> list[Row]:
    """The mean with its members below it; the only member of a group is its own row."""
    if len(members) == 1:
        (row,) = members
        return [dataclasses.replace(row, name=name, facts=_joined(facts, row.name, row.facts), leads=True, tone=tone)]
    return [_mean_row(name, facts, _errors(group), tone), *members]


def _mean_row(name: str, facts: str, errors: Sequence[float], tone: int | None) -> Row:
    if not errors:
        return Row(name, facts, "–", leads=True, tone=tone)
    mean, deviation, n = spread(errors)
    half = deviation or 0.0
    return Row(
        name,
        _joined(facts, f"mean of {n} seed{'s' * (n != 1)}"),
        percent(mean),
        deviation="" if deviation is None else percent(deviation),
        bar=Bar(*(100 * value for value in (mean, max(0.0, mean - half), mean + half))),
        leads=True,
        tone=tone,
    )


def _run_row(run: Run, key: str) -> Row:
    record = run.record
    time = "" if record.seconds is None else duration(record.seconds)
    name, error = f"seed {record.seed}", record.reported_error
    if error is None:
        state = "no test part" if run.finished else "not ended"
        return Row(name, _joined(run.name, time, state), "–", key=key)
    last = "after the last step" if record.terminal else ""
    low, high = record.test_interval or (error, error)
    return Row(
        name,
        _joined(run.name, time, last),
        percent(error),
        interval=f"{percent(low)} to {percent(high)}" if record.test_interval else "",
        bar=Bar(100 * error, 100 * low, 100 * high),
        key=key,
    )


def _scale(bars: Sequence[Bar]) -> Scale:
    """One scale that every bar fits on."""
    return nice(min((bar.low for bar in bars), default=0.0), max((bar.high for bar in bars), default=0.0), count=3)


def _with_curves(group: Group, runs: dict[int, tuple[Run, str]]) -> list[Record]:
    """Their records, each with the fullest curve there is of it."""
    return [dataclasses.replace(record, curve=runs[id(record)][0].curve) for record in group.records]

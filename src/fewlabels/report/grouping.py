"""Which runs are repetitions of one another: those whose requests differ in the seed and the machine alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fewlabels.report.records import Record, flatten

# What may differ among repetitions: the draw, and where and how fast it ran.
INCIDENTAL = frozenset({"seed", "device", "devices", "nodes", "precision", "compile", "data_dir"})
# What the record says in fields of its own.
SAID_AGAIN = frozenset(
    {"data", "method", "labels", "unlabeled", "preset", "steps", "epochs", "minutes", "recipe.epochs"}
)


@dataclass(frozen=True)
class Group:
    """Repetitions with different seeds, and the settings that set them apart from the other groups beside them."""

    records: tuple[Record, ...]
    apart: str = ""


def group_runs(records: Sequence[Record]) -> tuple[Group, ...]:
    """Repetitions, in the order in which they first appear. Of a seed that was run twice the later run counts.

    >>> asked = [{"seed": seed, "recipe": {"alpha": alpha}} for alpha in (1.0, 0.5) for seed in (0, 1)]
    >>> runs = [Record("svhn", "rot", 1000, config["seed"], config=config) for config in asked]
    >>> [(len(group.records), group.apart) for group in group_runs(runs)]
    [(2, 'alpha 1.0'), (2, 'alpha 0.5')]
    """
    found: list[list[Record]] = []
    for record in records:
        home = next((group for group in found if _repeats(record, group[0])), None)
        if home is None:
            found.append([record])
        else:
            home.append(record)
    members = [tuple(_latest(group)) for group in found]
    return tuple(Group(group, _apart(group[0], [m[0] for m in members])) for group in members)


def settings(record: Record) -> dict[str, Any]:
    """What a run was asked beyond the record's own fields, but for what is incidental, as one level of dotted names."""
    return {key: value for key, value in flatten(record.config).items() if key not in INCIDENTAL | SAID_AGAIN}


def _repeats(record: Record, other: Record) -> bool:
    if (record.data, record.method, record.labels, record.preset) != (
        other.data,
        other.method,
        other.labels,
        other.preset,
    ):
        return False
    if _facts(record) != _facts(other):
        return False
    mine, theirs = settings(record), settings(other)
    return all(theirs[key] == value for key, value in mine.items() if key in theirs)


def _latest(group: Sequence[Record]) -> list[Record]:
    by_seed: dict[int, Record] = {}
    for record in sorted(group, key=lambda record: record.started or ""):
        by_seed[record.seed] = record
    return [by_seed[seed] for seed in sorted(by_seed)]


def _apart(record: Record, all_of_them: Sequence[Record]) -> str:
    """The settings in which this one differs from another, by their last names."""
    if len(all_of_them) < 2:
        return ""
    facts: list[Mapping[str, Any]] = [{**_facts(r), **settings(r)} for r in all_of_them]
    mine = {**_facts(record), **settings(record)}
    differing = [key for key in mine if any(other.get(key, mine[key]) != mine[key] for other in facts)]
    return ", ".join(f"{key.rpartition('.')[2]} {mine[key]}" for key in differing[:4])


def _facts(record: Record) -> dict[str, Any]:
    return {"budget": str(record.budget), "unlabeled": record.unlabeled, "terminal": record.terminal}

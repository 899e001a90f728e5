"""Tables of test errors from records alone, as Markdown, LaTeX and CSV.

A cell of ours shows mean, deviation, number of runs, preset and budget. A column holds one preset of ours, or one
source's quoted numbers: a ``Table`` that mixes them cannot be made.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fewlabels.report.grouping import Group, group_runs
from fewlabels.report.names import data_name, labels_name, method_name, percent
from fewlabels.report.quoted import QUOTES, Quote
from fewlabels.report.records import Record
from fewlabels.report.statistics import Spread, spread

FIT = 4  # columns of LaTeX that a page is wide enough for


class Setting(NamedTuple):
    """A data set and how many of its images are labelled; None is all of them."""

    data: str
    labels: int | None

    def __str__(self) -> str:
        return f"{data_name(self.data)}, {labels_name(self.labels)}"

    def holds(self, record: Record) -> bool:
        """Whether a run belongs here. With all labels nothing is left unlabelled."""
        if record.data != self.data:
            return False
        return record.unlabeled == 0 if self.labels is None else record.labels == self.labels and record.unlabeled != 0


@dataclass(frozen=True)
class Column:
    """Runs of one preset, or numbers quoted from one source; never both."""

    setting: Setting
    preset: str | None = None
    source: str | None = None

    @property
    def heading(self) -> str:
        """What stands above the column."""
        ours = "runs without a preset" if self.preset is None else f"preset {self.preset}"
        return f"{self.setting}: {ours if self.source is None else f'quoted, {self.source}'}"


@dataclass(frozen=True)
class Measured:
    """Runs of ours that differ in their seed alone; errors are fractions."""

    error: Spread
    preset: str | None
    budget: str
    terminal: bool = False  # errors after the last step: no validation images chose an epoch

    def __str__(self) -> str:
        facts = [f"n = {self.error.n}", *([self.preset] if self.preset else []), self.budget]
        return f"{_number(self.error.mean, self.error.deviation)} ({', '.join(facts)}{', terminal' * self.terminal})"


@dataclass(frozen=True)
class Quoted:
    """A number somebody else measured."""

    mean: float
    deviation: float | None
    source: str

    def __str__(self) -> str:
        return _number(self.mean, self.deviation)


Cell = Measured | Quoted | None


@dataclass(frozen=True)
class Row:
    """A method, and its cells in the order of the columns."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Test errors in percent. Columns that mix presets, or our numbers with quoted ones, are refused."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(f"row {row.label!r} has {len(row.cells)} cells for {len(self.columns)} columns")
            for column, cell in zip(self.columns, row.cells, strict=True):
                if not _belongs(cell, column):
                    raise ValueError(f"{cell!r} of row {row.label!r} does not belong below {column.heading!r}")

    def to_markdown(self) -> str:
        """A GitHub table below its title.

        >>> column = Column(Setting("cifar10", 4000), preset="desk")
        >>> cell = Measured(Spread(0.1802, 0.0038, 5), "desk", "12,800 steps")
        >>> print(Table("Errors", (column,), (Row("ROT", (cell,)),)).to_markdown())
        **Errors**
        <BLANKLINE>
        | Method | CIFAR-10, 4,000 labels: preset desk |
        |---|---|
        | ROT | 18.02 ± 0.38 (n = 5, desk, 12,800 steps) |
        <BLANKLINE>
        """
        lines = [_markdown_row(["Method", *(column.heading for column in self.columns)])]
        lines.append("|" + "---|" * (len(self.columns) + 1))
        lines += [_markdown_row([row.label, *map(_cell, row.cells)]) for row in self.rows]
        notes = [f"\n{note}" for note in self.notes]
        return "\n".join([f"**{self.title}**", "", *lines, *notes]) + "\n"

    def to_latex(self) -> str:
        """A ``table`` environment for the booktabs package; what is said of a number is set small below it.

        What is too wide for a page becomes one tabular a setting, below each other.
        """
        everything = range(len(self.columns))
        blocks = [list(everything)]
        if len(self.columns) > FIT:
            settings = dict.fromkeys(column.setting for column in self.columns)
            blocks = [[i for i in everything if self.columns[i].setting == setting] for setting in settings]
        return "\n".join(
            [
                r"\begin{table}",
                r"  \centering",
                rf"  \caption{{{_latex(' '.join((f'{self.title}.', *self.notes)))}}}",
                *([r"  \footnotesize\setlength{\tabcolsep}{4pt}"] if len(blocks) > 1 else []),
                "\n  \\par\\bigskip\n".join(self._tabular(block) for block in blocks if block),
                r"\end{table}",
                "",
            ]
        )

    def _tabular(self, block: Sequence[int]) -> str:
        """Some of the columns, and the rows that have anything in them."""
        heads = [_head(self.columns[i]) for i in block]
        rows = [
            " & ".join([_latex(row.label), *(_latex_cell(row.cells[i]) for i in block)])
            for row in self.rows
            if any(row.cells[i] is not None for i in block) or len(block) == len(self.columns)
        ]
        return "\n".join(
            [
                rf"  \begin{{tabular}}{{l{'r' * len(block)}}}",
                r"    \toprule",
                rf"    {' & '.join(['Method', *heads])} \\",
                r"    \midrule",
                *(rf"    {row} \\" for row in rows),
                r"    \bottomrule",
                r"  \end{tabular}",
            ]
        )

    def to_csv(self) -> str:
        """One cell a line, errors in percent, so that a spreadsheet can sort and filter them."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(
            ["method", "data", "labels", "kind", "preset", "budget", "n", "mean", "deviation", "terminal", "source"]
        )
        for row in self.rows:
            for column, cell in zip(self.columns, row.cells, strict=True):
                if cell is not None:
                    writer.writerow([row.label, column.setting.data, column.setting.labels or "all", *_csv_cell(cell)])
        return out.getvalue()


def error_table(
    title: str,
    records: Sequence[Record],
    settings: Sequence[Setting],
    methods: Sequence[str],
    *,
    quotes: Sequence[Quote] = QUOTES,
    notes: Sequence[str] = (),
) -> Table:
    """Test errors of methods (rows) in settings (columns, one a preset that has runs), and the quoted ones beside them.

    Runs are averaged when their configurations agree in all but the seed and the machine; a method whose runs do not
    agree has several rows, which say what sets them apart.

    >>> runs = [Record("svhn", "rot", 1000, seed, preset="desk", test_error=0.05) for seed in (0, 1)]
    >>> table = error_table("Errors", runs, [Setting("svhn", 1000)], ["rot"], quotes=())
    >>> [str(cell) for row in table.rows for cell in row.cells]
    ['5.00 ± 0.00 (n = 2, desk, budget unknown)']
    """
    usable = [record for record in records if record.reported_error is not None]
    columns = tuple(column for setting in settings for column in _columns(setting, usable, quotes, methods))
    rows = tuple(row for method in methods for row in _rows(method, columns, usable, quotes))
    return Table(title, columns, rows, tuple(notes))


def _columns(
    setting: Setting, records: Sequence[Record], quotes: Sequence[Quote], methods: Sequence[str]
) -> list[Column]:
    presets = {record.preset for record in records if setting.holds(record) and record.method in methods}
    sources = [q.source for q in quotes if (q.data, q.labels) == setting and q.method in methods]
    ours = [Column(setting, preset=preset) for preset in sorted(presets, key=lambda preset: preset or "")]
    return [*ours, *(Column(setting, source=source) for source in dict.fromkeys(sources))]


def _rows(method: str, columns: Sequence[Column], records: Sequence[Record], quotes: Sequence[Quote]) -> list[Row]:
    """One row, or as many as the fullest column needs."""
    groups = [
        ()
        if column.source
        else group_runs(
            [r for r in records if r.method == method and r.preset == column.preset and column.setting.holds(r)]
        )
        for column in columns
    ]
    height = max((len(found) for found in groups), default=0)
    quoted = tuple(_quoted(method, column, quotes) for column in columns)
    if not height:
        return [Row(method_name(method), quoted)] if any(quoted) else []
    rows = []
    for i in range(height):
        found = [g[i] if i < len(g) else None for g in groups]
        apart = next((g.apart for g in found if g is not None and g.apart), "")
        label = f"{method_name(method)} ({apart})" if apart else method_name(method)
        cells = [
            quote if i == 0 and quote else measured(g) if g else None for quote, g in zip(quoted, found, strict=True)
        ]
        rows.append(Row(label, tuple(cells)))
    return rows


def measured(group: Group) -> Measured:
    """The cell of runs that differ in their seed alone."""
    errors = [r.reported_error for r in group.records if r.reported_error is not None]
    first = group.records[0]
    return Measured(spread(errors), first.preset, str(first.budget), any(r.terminal for r in group.records))


def _quoted(method: str, column: Column, quotes: Sequence[Quote]) -> Quoted | None:
    asked = (method, *column.setting, column.source)
    found = next((q for q in quotes if (q.method, q.data, q.labels, q.source) == asked), None)
    return None if found is None else Quoted(found.mean, found.deviation, found.source)


def _belongs(cell: Cell, column: Column) -> bool:
    match cell:
        case Measured():
            return column.source is None and cell.preset == column.preset
        case Quoted():
            return cell.source == column.source
    return True


def _number(mean: float, deviation: float | None) -> str:
    return percent(mean) if deviation is None else f"{percent(mean)} ± {percent(deviation)}"


def _cell(cell: Cell) -> str:
    return "–" if cell is None else str(cell)


def _markdown_row(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", r"\|") for value in values) + " |"


_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def _latex(text: str) -> str:
    return text.translate(_LATEX).replace("±", r"$\pm$").replace("–", "--")


def _latex_cell(cell: Cell) -> str:
    number, bracket, facts = _cell(cell).partition(" (")
    return _stack([number, f"({facts}"], "t") if bracket else _latex(number)


def _head(column: Column) -> str:
    """A column's heading in short lines."""
    lines = str(column.setting), *column.heading[len(f"{column.setting}: ") :].split(", ", 1)
    return _stack([part for line in lines for part in line.replace(" (", "\n(").replace("/", "/\n").split("\n")], "b")


def _stack(lines: Sequence[str], align: str) -> str:
    """Lines in one cell, all but the first small."""
    small = (rf"\scriptsize {_latex(line)}" for line in lines[1:])
    stacked = r" \\ ".join([_latex(lines[0]), *small])
    return rf"\begin{{tabular}}[{align}]{{@{{}}r@{{}}}}{stacked}\end{{tabular}}"


def _csv_cell(cell: Measured | Quoted) -> list[object]:
    if isinstance(cell, Quoted):
        return ["quoted", "", "", "", percent(cell.mean), _deviation(cell.deviation), "", cell.source]
    numbers = [cell.error.n, percent(cell.error.mean, 4), _deviation(cell.error.deviation, 4)]
    return ["ours", cell.preset or "", cell.budget, *numbers, "yes" if cell.terminal else "no", ""]


def _deviation(value: float | None, digits: int = 2) -> str:
    return "" if value is None else percent(value, digits)

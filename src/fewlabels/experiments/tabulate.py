"""Tables of an experiment's records: by method as in the paper, or by what was changed in one method."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fewlabels.experiments.experiment import Drawing
from fewlabels.experiments.ledger import records_of_cells
from fewlabels.report.grouping import Group
from fewlabels.report.quoted import QUOTES, Quote
from fewlabels.report.tables import Column, Measured, Row, Setting, Table, error_table, measured
from fewlabels.train.config import Config


def by_method(drawing: Drawing, quotes: Sequence[Quote] = QUOTES) -> Table:
    """Methods in rows, data sets in columns; quoted numbers in columns of their own."""
    methods = tuple(dict.fromkeys(cell.method for cell in drawing.cells))
    note = _note(drawing)
    return error_table(drawing.title, drawing.records, _settings(drawing), methods, quotes=quotes, notes=(note,))


def by_change(drawing: Drawing, label: Callable[[Config], str]) -> Table:
    """What was changed in rows, as ``label`` calls it, data sets in columns; what has not been run has no row."""
    found = {(label(cell), _setting(cell)): _cell(drawing, cell) for cell in drawing.cells}
    rows = (
        Row(name, tuple(found.get((name, setting)) for setting in _settings(drawing)))
        for name in dict.fromkeys(name for name, _ in found)
    )
    columns = tuple(Column(setting, preset=drawing.preset.name) for setting in _settings(drawing))
    return Table(drawing.title, columns, tuple(row for row in rows if any(row.cells)), (_note(drawing),))


def _cell(drawing: Drawing, cell: Config) -> Measured | None:
    records = records_of_cells(drawing.records, (cell,), drawing.preset.name)
    return measured(Group(records)) if records else None


def _settings(drawing: Drawing) -> tuple[Setting, ...]:
    return tuple(dict.fromkeys(_setting(cell) for cell in drawing.cells))


def _setting(cell: Config) -> Setting:
    return Setting(cell.data, None if cell.stratify == "proportional" else cell.labels)


def _note(drawing: Drawing) -> str:
    return (
        "Test error in percent at the lowest validation error: mean and sample deviation over n splits. "
        f"Preset {drawing.preset.name}: {drawing.preset.summary}."
    )

"""Tables of an experiment, in the three forms in which they are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fewlabels.experiments.experiment import Drawing
from fewlabels.experiments.presets import Preset
from fewlabels.report.records import Record
from fewlabels.report.tables import Setting, Table, error_table
from fewlabels.train.config import Config
from fewlabels.train.folder import write_text


def draw_table(drawing: Drawing) -> tuple[Path, ...]:
    """Methods in rows, data sets in columns, as Markdown, LaTeX and CSV; quoted numbers in columns of their own."""
    table = table_of(drawing.title, drawing.records, drawing.cells, drawing.preset)
    forms = {"md": table.to_markdown(), "tex": table.to_latex(), "csv": table.to_csv()}
    paths = {form: drawing.out / f"{drawing.name}.{form}" for form in forms}
    for form, text in forms.items():
        write_text(paths[form], text)
    return tuple(paths.values())


def table_of(title: str, records: Sequence[Record], cells: Sequence[Config], preset: Preset) -> Table:
    """The table of these cells, all of one preset; a note says what its numbers are."""
    settings = tuple(dict.fromkeys(_setting(cell) for cell in cells))
    methods = tuple(dict.fromkeys(cell.method for cell in cells))
    note = (
        "Test error in percent at the lowest validation error: mean and sample deviation over n splits. "
        f"Preset {preset.name}: {preset.summary}."
    )
    return error_table(title, records, settings, methods, notes=(note,))


def _setting(cell: Config) -> Setting:
    return Setting(cell.data, None if cell.stratify == "proportional" else cell.labels)

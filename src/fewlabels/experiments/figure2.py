"""Figure 2: test error for varying labelled images, and for unlabelled ones from SVHN's additional images."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from fewlabels.experiments.experiment import Drawing, Experiment
from fewlabels.experiments.sets import with_all_labels, with_counts
from fewlabels.report.records import Record
from fewlabels.train.config import Config

UNLABELED = (10_000, 20_000, 40_000, 80_000, 160_000)  # the paper names 40,000, beyond which little is gained


def with_unlabeled() -> tuple[Config, ...]:
    """ROT with 1,000 labels of SVHN and so many unlabelled images of its training part and the additional ones."""
    return tuple(Config("svhn-extra", "rot", labels=1_000, unlabeled=count) for count in UNLABELED)


def draw(drawing: Drawing) -> tuple[Path, ...]:
    """A panel for each data set, and one for the runs whose unlabelled images were counted."""
    from fewlabels.report.figures import figure2, save

    data = tuple(dict.fromkeys(cell.data for cell in drawing.cells if cell.unlabeled is None))
    extra = next(_extra(cell.data) for cell in drawing.cells if cell.unlabeled is not None)
    records = [_in_its_panel(record) for record in drawing.records]
    absent = any(note.data == "svhn-extra" for note in drawing.left_out)
    return save(figure2(records, data=data, extra=extra, absent=absent), drawing.out / drawing.name)


def _in_its_panel(record: Record) -> Record:
    counted = record.config.get("unlabeled") is not None
    return dataclasses.replace(record, data=_extra(record.data)) if counted else record


def _extra(data: str) -> str:
    return f"{data.removesuffix('-extra')}-extra"


FIGURE2 = Experiment(
    name="figure2",
    title="Test error for varying labelled and unlabelled images",
    asks=(*with_counts(), *with_all_labels(), *with_unlabeled()),
    figure=draw,
    needs=("matplotlib",),
)

"""Figure 1: the transport cost by epoch, and how many images ROT and the classifier itself label rightly."""

from __future__ import annotations

from pathlib import Path

from fewlabels.experiments.experiment import Drawing, Experiment
from fewlabels.experiments.sets import with_counts


def draw(drawing: Drawing) -> tuple[Path, ...]:
    """Costs above, rightly labelled images below, a column for each data set."""
    from fewlabels.report.figures import figure1, save

    data = tuple(dict.fromkeys(cell.data for cell in drawing.cells))
    return save(figure1(drawing.records, data=data), drawing.out / drawing.name)


FIGURE1 = Experiment(
    name="figure1",
    title="Transport cost, and labels that are right, for varying labelled images",
    asks=with_counts(),
    figure=draw,
    needs=("matplotlib",),
)

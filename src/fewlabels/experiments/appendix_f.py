"""App. F: what a small validation set can tell, and the sweeps of lambda and alpha; Figures 3 and 4 are made of it."""

from __future__ import annotations

from pathlib import Path

from fewlabels.experiments.experiment import Drawing
from fewlabels.experiments.sets import LABELS
from fewlabels.train.config import Config

VALUES = (0.1, 0.25, 0.5, 0.75, 1.0)
REG, ALPHA = 0.25, 1.0  # what is held still while the other is swept


def sweeps(data: str) -> tuple[Config, ...]:
    """ROT at rest, then along lambda of Eq. (3) with alpha = 1, then along alpha of Eq. (5) with lambda = 0.25.

    >>> len(sweeps("svhn"))
    11
    """
    settings = [(REG, ALPHA), *((reg, ALPHA) for reg in VALUES), *((REG, alpha) for alpha in VALUES)]
    return tuple(
        Config(data, "rot", labels=LABELS[data], overrides={"reg": reg, "alpha": alpha}) for reg, alpha in settings
    )


def draw(drawing: Drawing) -> tuple[Path, ...]:
    """Three panels: validation sets of varying size with Hoeffding's bound, lambda, alpha."""
    from fewlabels.report.figures import appendix_f, save

    return save(appendix_f(drawing.records, drawing.cells[0].data), drawing.out / drawing.name)

"""Figure 3: App. F on SVHN with 1,000 labels."""

from __future__ import annotations

from fewlabels.experiments.appendix_f import draw, sweeps
from fewlabels.experiments.experiment import Experiment

FIGURE3 = Experiment(
    name="figure3",
    title="Validation error of ROT on SVHN: small validation sets, lambda, alpha",
    asks=sweeps("svhn"),
    figure=draw,
    needs=("matplotlib",),
)

"""Figure 4: App. F on CIFAR-10 with 4,000 labels."""

from __future__ import annotations

from fewlabels.experiments.appendix_f import draw, sweeps
from fewlabels.experiments.experiment import Experiment

FIGURE4 = Experiment(
    name="figure4",
    title="Validation error of ROT on CIFAR-10: small validation sets, lambda, alpha",
    asks=sweeps("cifar10"),
    figure=draw,
    needs=("matplotlib",),
)

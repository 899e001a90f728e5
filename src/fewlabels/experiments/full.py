"""The fully supervised reference: the network trained on every label of the training part (Sec. 6.1)."""

from __future__ import annotations

from fewlabels.experiments.experiment import Experiment
from fewlabels.experiments.sets import TRAINING
from fewlabels.experiments.tables import draw_table
from fewlabels.train.config import Config

FULL = Experiment(
    name="full",
    title="Test error when every training image is labelled",
    asks=tuple(Config(data, "supervised", labels=labels, stratify="proportional") for data, labels in TRAINING.items()),
    draw=draw_table,
)

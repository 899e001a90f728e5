"""The fully supervised reference: the network trained on every label of the training part (Sec. 7.1)."""

from __future__ import annotations

from fewlabels.experiments.experiment import Experiment
from fewlabels.experiments.sets import with_all_labels
from fewlabels.experiments.tabulate import by_method

FULL = Experiment(
    name="full", title="Test error when every training image is labelled", asks=with_all_labels(), table=by_method
)

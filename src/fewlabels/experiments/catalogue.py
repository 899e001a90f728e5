"""Every table and figure by name."""

from __future__ import annotations

from fewlabels.experiments.ablation import ABLATION
from fewlabels.experiments.every import EVERY
from fewlabels.experiments.experiment import Experiment
from fewlabels.experiments.figure1 import FIGURE1
from fewlabels.experiments.figure2 import FIGURE2
from fewlabels.experiments.figure3 import FIGURE3
from fewlabels.experiments.figure4 import FIGURE4
from fewlabels.experiments.full import FULL
from fewlabels.experiments.table1 import TABLE1
from fewlabels.experiments.table2 import TABLE2

EXPERIMENTS: dict[str, Experiment] = {
    "table1": TABLE1,
    "table2": TABLE2,
    "methods": EVERY,
    "ablation": ABLATION,
    "full": FULL,
    "figure1": FIGURE1,
    "figure2": FIGURE2,
    "figure3": FIGURE3,
    "figure4": FIGURE4,
}

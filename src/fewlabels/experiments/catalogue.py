"""Every table and figure by name."""

from __future__ import annotations

from fewlabels.experiments.experiment import Experiment
from fewlabels.experiments.full import FULL
from fewlabels.experiments.table1 import TABLE1
from fewlabels.experiments.table2 import TABLE2

EXPERIMENTS: dict[str, Experiment] = {
    "table1": TABLE1,
    "table2": TABLE2,
    "full": FULL,
}

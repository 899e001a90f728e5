"""Table 2: ROT and Soft-ROT beside pseudo-labels from the greedy nearest neighbour."""

from __future__ import annotations

from fewlabels.experiments.experiment import Experiment
from fewlabels.experiments.sets import on_both
from fewlabels.experiments.tabulate import by_method

METHODS = ("rot", "soft-rot", "sm-gnn", "ss-gnn")

TABLE2 = Experiment(
    name="table2",
    title="Test error of pseudo-labels from transport and from the nearest neighbour",
    asks=on_both(METHODS),
    table=by_method,
)

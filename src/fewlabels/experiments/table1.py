"""Table 1: ROT and Soft-ROT beside the methods that Oliver et al. (2018) compared, on both data sets."""

from __future__ import annotations

from fewlabels.experiments.experiment import Experiment
from fewlabels.experiments.sets import on_both
from fewlabels.experiments.tabulate import by_method

METHODS = ("supervised", "rot", "soft-rot", "pi", "mean-teacher", "vat", "vat-entmin", "pseudo-label")

TABLE1 = Experiment(
    name="table1", title="Test error of semi-supervised methods", asks=on_both(METHODS), table=by_method
)

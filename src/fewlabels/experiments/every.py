"""Every method of the catalogue on both data sets: Tables 1 and 2 in one, with the methods that the paper has not."""

from __future__ import annotations

from fewlabels.experiments.experiment import Experiment
from fewlabels.experiments.sets import on_both
from fewlabels.experiments.tabulate import by_method
from fewlabels.methods import METHODS

EVERY = Experiment(name="methods", title="Test error of every method", asks=on_both(tuple(METHODS)), table=by_method)

"""What ROT takes: one setting changed at a time, everything else as the preset has it.

The settings are those the paper leaves open (docs/decisions). ``benchmarks/matching.py`` asks the same of labels alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fewlabels.experiments.experiment import Experiment
from fewlabels.experiments.sets import LABELS
from fewlabels.experiments.tabulate import by_change
from fewlabels.train.config import Config

# Of the 73,257 training images, digit by digit. Nobody would know them of images without labels: they bound what a
# guess of the class masses can be worth.
SVHN_SHARES = tuple(n / 73_257 for n in (4948, 13861, 10585, 8497, 7458, 6882, 5727, 5595, 5045, 4659))

CHANGES: Mapping[str, Mapping[str, Any]] = {
    "ROT": {},
    "warm-up over 0.4 of the budget": {"warmup": 0.4},
    "alpha grows over 0.4 of the budget": {"alpha_ramp": 0.4},
    "constant learning rate": {"schedule": "constant"},
    "pool as large as the labelled part": {"pool": "labeled"},
    "outputs of the student, not of the average": {"match_with": "student"},
    "clusters of equal mass": {"weights": "uniform"},
    "50 clusters": {"clusters": 50},
    "200 clusters": {"clusters": 200},
    "features": {"match_on": "features"},
    "features, 50 clusters": {"match_on": "features", "clusters": 50},
}
UNEVEN: Mapping[str, Mapping[str, Any]] = {  # CIFAR-10's are even
    "true class shares": {"class_prior": SVHN_SHARES},
    "true class shares, of the clusters too": {"class_prior": SVHN_SHARES, "weights": "prior"},
}


def _asks(data: str) -> tuple[Config, ...]:
    changes = {**CHANGES, **(UNEVEN if data == "svhn" else {})}
    return tuple(Config(data, "rot", labels=LABELS[data], overrides=change) for change in changes.values())


def _label(cell: Config) -> str:
    """What a run's overrides are called; a preset may have added to them.

    >>> _label(Config("svhn", overrides={"epoch_steps": 8, "match_on": "features", "clusters": 50}))
    'features, 50 clusters'
    """
    named = {**CHANGES, **UNEVEN}
    return max(
        (name for name, change in named.items() if change.items() <= cell.overrides.items()),
        key=lambda name: len(named[name]),
    )


ABLATION = Experiment(
    name="ablation",
    title="Test error of ROT with one setting changed",
    asks=tuple(ask for data in LABELS for ask in _asks(data)),
    table=partial(by_change, label=_label),
)

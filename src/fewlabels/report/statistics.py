"""How sure a measured error is: Wilson's interval, deviation over seeds, Hoeffding's bound, small validation sets."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, sqrt
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Interval(NamedTuple):
    """Both ends of an interval."""

    low: float
    high: float


class Spread(NamedTuple):
    """The mean over runs, their sample deviation (n - 1; None for a single run) and how many they are."""

    mean: float
    deviation: float | None
    n: int


def wilson(wrong: int, total: int, level: float = 0.95) -> Interval:
    """Wilson's score interval for a share of which ``wrong`` in ``total`` was seen.

    The p with (wrong / total - p)^2 <= z^2 p (1 - p) / total. Unlike the normal interval it stays within [0, 1] and
    keeps a width when nothing, or everything, is wrong.

    >>> low, high = wilson(1800, 10_000)
    >>> f"{low:.4f} {high:.4f}"
    '0.1726 0.1877'
    """
    if not 0 <= wrong <= total or total == 0:
        raise ValueError(f"{wrong} wrong of {total}: wrong must lie between 0 and total, and total above 0")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, scale = wrong / total, 1 + z * z / total
    middle = (share + z * z / (2 * total)) / scale
    half = z / scale * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def spread(values: Sequence[float]) -> Spread:
    """Mean and sample deviation of a measurement that was repeated.

    >>> mean, deviation, n = spread([0.17, 0.18, 0.19])
    >>> f"{mean:.2f} {deviation:.2f} {n}"
    '0.18 0.01 3'
    >>> spread([0.17]).deviation is None
    True
    """
    if not values:
        raise ValueError("no values to average: at least one is needed")
    return Spread(fmean(values), stdev(values) if len(values) > 1 else None, len(values))


def hoeffding(samples: int, confidence: float = 0.95) -> float:
    """The p of App. F: a mean of n values in [0, 1] is within p of its expectation with this confidence.

    P(|V - E V| < p) > 1 - 2 exp(-2 n p^2), solved for p.

    >>> round(hoeffding(1000), 4)
    0.0429
    """
    return sqrt(log(2 / (1 - confidence)) / (2 * samples))


def hoeffding_samples(deviation: float, confidence: float = 0.95) -> int:
    """How many samples make Hoeffding's bound at most ``deviation``. (App. F speaks of about 20,000 for 1 % at 95 %.)

    >>> hoeffding_samples(0.01)
    18445
    """
    return ceil(log(2 / (1 - confidence)) / (2 * deviation**2))


def subset_errors(wrong: NDArray[np.bool_], size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The errors of non-overlapping validation sets of one size, drawn at random from the whole (App. F, Fig. 3a, 4a).

    >>> wrong = np.arange(1000) % 10 == 0
    >>> errors = subset_errors(wrong, 250, np.random.default_rng(0))
    >>> len(errors), round(float(errors.mean()), 3)
    (4, 0.1)
    """
    sets = len(wrong) // size
    if sets == 0:
        raise ValueError(f"a set of {size} does not fit into {len(wrong)} images")
    shuffled = rng.permutation(wrong)[: sets * size]
    return shuffled.reshape(sets, size).mean(axis=1, dtype=np.float64)

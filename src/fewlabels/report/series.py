"""The numbers behind the paper's figures, from records alone; ``figures`` only draws them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fewlabels.errors import InputError
from fewlabels.report.records import Record
from fewlabels.report.statistics import Spread, hoeffding, spread, subset_errors

PLAN_REG, LOSS_ALPHA = 0.25, 1.0  # what App. F holds still while it sweeps the other


@dataclass(frozen=True)
class Series:
    """A quantity measured along x: one spread over runs for each x."""

    label: str
    x: tuple[float, ...]
    y: tuple[Spread, ...]

    @property
    def mean(self) -> NDArray[np.float64]:
        """The means."""
        return np.array([spread.mean for spread in self.y])

    @property
    def deviation(self) -> NDArray[np.float64]:
        """The deviations; 0 for a single run, which has none."""
        return np.array([spread.deviation or 0.0 for spread in self.y])


def one_preset(records: Sequence[Record]) -> str | None:
    """The preset of these records; an error if they have several, for presets never share a figure."""
    presets = sorted({record.preset or "none" for record in records})
    if len(presets) > 1:
        raise InputError(
            f"a figure shows one preset, and these records have {', '.join(presets)}: draw one figure for each"
        )
    return records[0].preset if records else None


def along(
    records: Iterable[Record], x: Callable[[Record], float | None], y: Callable[[Record], float | None]
) -> Series:
    """Mean and deviation of y over the runs at each x; runs that lack either are left out.

    >>> runs = [Record("svhn", "rot", n, s, test_error=10 / n + s / 100) for n in (100, 1000) for s in (0, 1)]
    >>> series = along(runs, lambda r: r.labels, lambda r: r.reported_error)
    >>> series.x, [round(value, 3) for value in series.mean.tolist()]
    ((100, 1000), [0.105, 0.015])
    """
    found: dict[float, list[float]] = {}
    for record in records:
        where, value = x(record), y(record)
        if where is not None and value is not None:
            found.setdefault(where, []).append(value)
    return Series("", tuple(sorted(found)), tuple(spread(found[where]) for where in sorted(found)))


def curve(records: Sequence[Record], column: str, label: str) -> Series:
    """Mean and deviation over runs of a column of the curves, at each epoch that has one (Fig. 1 a, b)."""
    found: dict[float, list[float]] = {}
    for record in records:
        values = record.curve.get(column, ())
        epochs = record.curve.get("epoch") or tuple(float(i + 1) for i in range(len(values)))
        for epoch, value in zip(epochs, values, strict=False):
            if epoch is not None and value is not None:
                found.setdefault(epoch, []).append(value)
    return Series(label, tuple(sorted(found)), tuple(spread(found[epoch]) for epoch in sorted(found)))


def last(record: Record, column: str) -> float | None:
    """The last number of a column: the last labelling's, say.

    >>> last(Record("svhn", "rot", 10, 0, curve={"transport_cost": (None, 0.4, 0.3, None)}), "transport_cost")
    0.3
    """
    return next((value for value in reversed(record.curve.get(column, ())) if value is not None), None)


def rightly_labelled(record: Record, column: str) -> float | None:
    """How many unlabelled images are labelled rightly (Fig. 1 c, d), taken to be as many of all as of the last pool."""
    share = last(record, column)
    return None if share is None or record.unlabeled is None else share * record.unlabeled


def validation_sizes(total: int) -> tuple[int, ...]:
    """Sizes of small validation sets, up to the whole.

    >>> validation_sizes(5000)
    (50, 100, 250, 500, 1000, 2500, 5000)
    """
    return (*(size for size in (50, 100, 250, 500, 1000, 2500) if size < total), total)


def small_validation(records: Sequence[Record], sizes: Sequence[int], *, draws: int = 5) -> Series:
    """Error over non-overlapping validation sets of each size: mean and deviation over sets and runs (App. F, a)."""
    flags = [wrong for record in records if (wrong := record.validation_wrong) is not None]
    found: dict[float, list[float]] = {}
    rng = np.random.default_rng(0)
    for size in sizes:
        for wrong in flags:
            for _ in range(draws if size < len(wrong) else 1):  # the whole set is the same in every draw
                found.setdefault(size, []).extend(subset_errors(wrong, size, rng).tolist())
    return Series("", tuple(sorted(found)), tuple(spread(found[size]) for size in sorted(found)))


def sweep(records: Sequence[Record], knob: str) -> Series:
    """Validation error along lambda (``"reg"``) or alpha, the other held still (App. F, b and c)."""
    other, still = ("alpha", LOSS_ALPHA) if knob == "reg" else ("reg", PLAN_REG)
    held = [record for record in records if record.setting(other) == still]
    return along(held, lambda record: record.setting(knob), lambda record: record.validation_error)


def hoeffding_band(mean: float, sizes: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where Hoeffding's inequality keeps 95 % of such errors, for each size of the validation set.

    >>> low, high = hoeffding_band(0.1, [20_000])
    >>> round(float(low[0]), 4), round(float(high[0]), 4)
    (0.0904, 0.1096)
    """
    half = np.array([hoeffding(int(size)) for size in sizes])
    return np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0)

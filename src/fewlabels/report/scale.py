"""Axes: ticks at round numbers, and where a value stands between them."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10

STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Scale:
    """An axis from ``low`` to ``high`` with round ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def percent(self, value: float) -> float:
        """Where a value stands, in percent of the axis; values beyond its ends stand on them.

        >>> Scale(0, 10, (0, 5, 10)).percent(2.5)
        25.0
        """
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)


def nice(low: float, high: float, *, count: int = 5, whole: bool = False) -> Scale:
    """An axis whose ends are ticks, with about ``count`` steps between round numbers.

    >>> nice(0.13, 0.87).ticks
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    >>> nice(1, 3, whole=True).ticks
    (1, 2, 3)
    >>> nice(0, 0).ticks  # nothing but zeros: no error is below none
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    """
    if high <= low:
        low, high = (0.0, 2 * high or 1.0) if high >= 0 else (low - 1.0, low + 1.0)
    step = _step((high - low) / count)
    if whole:
        step = max(1.0, float(ceil(step)))
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    ticks = tuple(_tidy(i * step, whole) for i in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def within(low: float, high: float, *, count: int = 5) -> Scale:
    """An axis of whole numbers from ``low`` to ``high`` exactly, with round ticks inside: epochs, steps.

    >>> within(1, 20).ticks
    (5, 10, 15, 20)
    """
    if high <= low:
        return Scale(low - 1, high + 1, (low,))
    ticks = nice(low, high, count=count, whole=True).ticks
    return Scale(low, high, tuple(tick for tick in ticks if low <= tick <= high))


def _step(raw: float) -> float:
    """The round number nearest above."""
    size: float = 10.0 ** floor(log10(raw))
    return next(step * size for step in STEPS if step * size >= raw * (1 - 1e-9))


def _tidy(value: float, whole: bool) -> float:
    return round(value) if whole else float(f"{value:.12g}")

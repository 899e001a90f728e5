"""How far a run has come, and what follows from it: the learning rate and the ramps.

A budget is a number of steps or a time. Everything that changes over a run is written in the *fraction* of the budget
that is spent, so the same recipe serves 2 minutes and 500,000 steps.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Literal

from fewlabels.methods.method import Step


@dataclass(frozen=True)
class Budget:
    """Steps or minutes, never both."""

    steps: int | None = None
    minutes: float | None = None


@dataclass
class Clock:
    """The steps and seconds of a run, over all its sittings."""

    budget: Budget
    step: int = 0
    earlier: float = 0.0  # seconds spent before this sitting
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Spent so far."""
        return self.earlier + time.monotonic() - self.started

    def fraction(self, seconds: float) -> float:
        """The part of the budget that is spent, 0 to 1, at the present step and a given time."""
        if self.budget.steps is not None:
            return min(1.0, self.step / self.budget.steps)
        assert self.budget.minutes is not None
        return min(1.0, seconds / (60.0 * self.budget.minutes))

    def now(self, seconds: float | None = None) -> Step:
        """Where the run stands."""
        return Step(self.step, self.fraction(self.seconds if seconds is None else seconds))


def learning_rate_factor(schedule: Literal["constant", "step", "cosine"], fraction: float) -> float:
    """What the recipe's learning rate is multiplied by.

    >>> [round(learning_rate_factor("cosine", f), 3) for f in (0.0, 0.5, 1.0)]
    [1.0, 0.5, 0.0]
    >>> [learning_rate_factor("step", f) for f in (0.79, 0.8)]
    [1.0, 0.2]
    """
    if schedule == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * fraction))
    if schedule == "step":  # Oliver et al.: x 0.2 at step 400,000 of 500,000
        return 0.2 if fraction >= 0.8 else 1.0
    return 1.0


def alpha_factor(ramp: float, warmup: float, fraction: float) -> float:
    """What alpha of Eq. (5) is multiplied by: it grows from 0 to 1 over ``ramp`` of the budget, after the warm-up."""
    return 1.0 if ramp <= 0 else min(1.0, max(0.0, (fraction - warmup) / ramp))

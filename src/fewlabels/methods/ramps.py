"""Weights that change during a run, as values: functions of the spent part of the budget, so they fit any budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Ramp:
    """Rises to ``peak`` over the first ``over`` of the budget and stays there.

    With x = min(fraction / over, 1): "exp" is peak exp(-5 (1 - x)^2), the ramp-up of Mean Teacher and of Oliver et al.
    (2018), whose 200,000 of 500,000 steps are ``over=0.4``; "linear" is peak x.

    >>> ramp = Ramp(8.0, over=0.4)
    >>> [round(ramp(f), 3) for f in (0.0, 0.2, 0.4, 1.0)]
    [0.054, 2.292, 8.0, 8.0]
    >>> Ramp(1.0, over=1.0, shape="linear")(0.25)
    0.25
    """

    peak: float
    over: float = 0.4
    shape: Literal["exp", "linear"] = "exp"

    def __call__(self, fraction: float) -> float:
        """The value when ``fraction`` of the budget is spent."""
        x = min(fraction / self.over, 1.0) if self.over > 0 else 1.0
        return self.peak * (x if self.shape == "linear" else math.exp(-5.0 * (1.0 - x) ** 2))

"""The outer loop of Algorithm 1: a coupling for the places, places for the coupling."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from fewlabels.ot.coupling import Coupled

Couple = Callable[[Float[Tensor, "k d"], Coupled | None], Coupled]  # of centres, and the coupling of the step before


def alternate(
    couple: Couple, y: Float[Tensor, "k d"], gain: float, max_iter: int
) -> tuple[Tensor, Coupled, tuple[float, ...], bool]:
    """The two steps in turn until one gains at most ``gain``: centres, their coupling, the objectives, whether done."""
    coupled = couple(y, None)
    objectives = [coupled.objective]
    while len(objectives) < max_iter:
        moved = torch.where(coupled.masses[:, None] > 0, coupled.sums / coupled.masses[:, None], y)  # l. 14, theta = 1
        if torch.equal(moved, y):  # where the coupling would be the same again
            return y, coupled, tuple(objectives), True
        new = couple(moved, coupled)  # l. 4-11 and 13
        fall = coupled.objective - new.objective
        if fall >= 0:
            y, coupled = moved, new
            objectives.append(new.objective)
        if fall <= gain:
            return y, coupled, tuple(objectives), True
    return y, coupled, tuple(objectives), False

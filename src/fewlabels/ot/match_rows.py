"""Which cloud of one family answers each cloud of another, by bounds first and exact plans last.

Far clouds have a lower bound above what the near one costs at most. The cascade goes from cheap to dear: moments of all
pairs at once; an ordered coupling and Gelbrich's bound of the pairs still open; exact plans of those open after that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from fewlabels.ot.bounds import Clouds, CloudWeights
from fewlabels.ot.checks import check_power
from fewlabels.ot.match_plan import plan_argmax
from fewlabels.ot.narrowing import BoundedPairs, bounded_pairs
from fewlabels.ot.types import Plan

Mode = Literal["certified", "bound"]


@dataclass(frozen=True)
class RowMatch:
    """One P for each Q, how much of that is proved, and what is known of each pair."""

    mode: Mode
    labels: Int[Tensor, " q"]
    certified: Bool[Tensor, " q"]  # proved: no other P can take the row's place
    error: Float[Tensor, " q"]  # where not: how much of the row's mass may prefer another (nan for a row minimum)
    lower: Float[Tensor, "q p"]  # of W_k
    upper: Float[Tensor, "q p"]
    solved: int  # pairs solved exactly, where both bounds are W_k
    plan: Plan | None = None  # of costs between the bounds, where its argmax is the answer

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return self.lower.numel()


def match_rows(
    qs: Clouds,
    ps: Clouds,
    *,
    mode: Mode = "certified",
    order: float = 2,
    a: CloudWeights | None = None,
    b: CloudWeights | None = None,
    reg: float | None = None,
    masses: tuple[Float[Tensor, " q"], Float[Tensor, " p"]] | None = None,
    power: float = 1,
    error: float = 0.0,
) -> RowMatch:
    """``argmin_j W_k(Q_i, P_j)`` for each i or, with ``reg``, ``argmax_j T(i, j)`` of Eq. (3) (Alg. 2, l. 11).

    ``"bound"`` answers from the lower bound of the moments alone (diagonal Gaussians for ``order >= 2``, means below)
    and ``certified`` says which rows the moments happen to prove. ``"certified"`` proves every row: it solves exactly
    the pairs that can still change the answer, and ``solved`` says how many those were. Values equal to one part in
    1e9 are a tie. ``a`` and ``b`` weigh the points of each cloud.

    The plan is that of ``X = W_k^power`` with the given ``masses`` (even when not given) and the entropy ``reg``. Its
    rows count as proved when the label takes, in the true plan, at most ``error`` of the row's mass less than the best.

    >>> near, far = torch.zeros(5, 2), torch.full((4, 2), 9.0)
    >>> found = match_rows([far + 1, near], [near, far])
    >>> found.labels, found.certified, found.solved
    (tensor([1, 0]), tensor([True, True]), 0)
    """
    if mode not in ("certified", "bound"):
        raise ValueError(f"mode is {mode!r}: choose 'certified' or 'bound'")
    check_power(power)
    pairs = bounded_pairs(qs, ps, order, a, b)
    if reg is not None:
        labels, missed, plan = plan_argmax(pairs, mode == "certified", reg, masses, power, error)
        return RowMatch(mode, labels, missed <= error, missed, pairs.lower, pairs.upper, int(pairs.exact.sum()), plan)
    if mode == "bound":
        labels = pairs.lower.argmin(1)
        certified = pairs.rivals().sum(1) == 1
    else:
        _settle(pairs)
        labels = torch.where(pairs.rivals(), pairs.upper, torch.inf).argmin(1)
        certified = torch.ones_like(labels, dtype=torch.bool)
    missed = torch.where(certified, 0.0, torch.nan).double()
    return RowMatch(mode, labels, certified, missed, pairs.lower, pairs.upper, int(pairs.exact.sum()))


def _settle(pairs: BoundedPairs) -> None:
    """Narrow the rows with several rivals until one is left, or all that are left are solved and equal."""
    for i in (pairs.rivals().sum(1) > 1).nonzero().flatten().tolist():
        for j in pairs.rivals_in(i):
            pairs.tighten(i, j)
        while len(rivals := pairs.rivals_in(i)) > 1:
            unsolved = [j for j in rivals if not pairs.exact[i, j]]
            if not unsolved:
                break
            cheapest = pairs.lower[i, unsolved].argmin()
            pairs.solve(i, unsolved[int(cheapest)])

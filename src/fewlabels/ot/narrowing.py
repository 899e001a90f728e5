"""What is known of ``W_k`` of every pair of two families: bounds that narrow from cheap to dear."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from fewlabels.ot.bounds import Clouds, CloudWeights, gaussian_bound, mean_bound, moments, product_bound
from fewlabels.ot.checks import check_order
from fewlabels.ot.pair_bounds import gelbrich, line_bound
from fewlabels.ot.wasserstein import wasserstein

_SLACK = 1e-9  # of the greatest upper bound: rounding, and what the network simplex leaves


@dataclass(frozen=True)
class BoundedPairs:
    """Two families, and bounds on W_k of their pairs that its methods narrow in place."""

    qs: Clouds
    ps: Clouds
    a: CloudWeights | None
    b: CloudWeights | None
    order: float
    lower: Float[Tensor, "q p"]
    upper: Float[Tensor, "q p"]
    exact: Bool[Tensor, "q p"]  # both bounds are W_k
    slack: float  # values this near to each other are equal

    def rivals(self) -> Bool[Tensor, "q p"]:
        """Pairs that may be the least of their row: no other is sure to cost less."""
        return self.lower <= self.upper.amin(1, keepdim=True) + self.slack

    def rivals_in(self, i: int) -> list[int]:
        """The same for row i."""
        return (self.lower[i] <= self.upper[i].amin() + self.slack).nonzero().flatten().tolist()

    def tighten(self, i: int, j: int) -> None:
        """By the ordered coupling from above and, where it holds, Gelbrich's bound from below."""
        q, p, a, b = self._pair(i, j)
        self.upper[i, j] = torch.minimum(self.upper[i, j], line_bound(q, p, self.order, a, b))
        if self.order >= 2:
            self.lower[i, j] = torch.maximum(self.lower[i, j], gelbrich(q, p, a, b))

    def solve(self, i: int, j: int) -> None:
        """By the exact plan."""
        q, p, a, b = self._pair(i, j)
        self.lower[i, j] = self.upper[i, j] = wasserstein(q, p, self.order, a=a, b=b)
        self.exact[i, j] = True

    def _pair(self, i: int, j: int) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        a = None if self.a is None else self.a[i].double()
        b = None if self.b is None else self.b[j].double()
        return self.qs[i].detach().double(), self.ps[j].detach().double(), a, b


def bounded_pairs(qs: Clouds, ps: Clouds, order: float, a: CloudWeights | None, b: CloudWeights | None) -> BoundedPairs:
    """Every pair between the bounds of its moments: below the diagonal Gaussian, or for ``order < 2`` the means."""
    check_order(order)
    q, p = moments(qs, a), moments(ps, b)
    lower = gaussian_bound(q, p) if order >= 2 else mean_bound(q, p)
    upper = torch.maximum(product_bound(q, p, order), lower)  # they may meet, and then differ by rounding
    unsolved = torch.zeros_like(lower, dtype=torch.bool)
    return BoundedPairs(qs, ps, a, b, order, lower, upper, unsolved, _SLACK * float(upper.max()))

"""What a match finds: a plan from clusters to classes, and what follows from it for each unlabelled row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fewlabels import ot


@dataclass(frozen=True)
class Matching:
    """A plan from clusters (rows) to classes (columns), and what follows from it for each row of X_u.

    The plan is small and lives on the CPU in float64; what there is one of a row lives where the rows do.
    """

    plan: ot.Plan
    clustering: ot.Clustering  # clusters that hold no row have left it, so cluster i is row i of the plan
    asked: int  # clusters asked for

    @property
    def cost_matrix(self) -> Float[Tensor, "k c"]:
        """X(i, j) = W(Q_i, P_j), Alg. 2, l. 8, or the bound or power of it that was asked for."""
        return self.plan.cost_matrix

    @property
    def cost(self) -> float:
        """<T, X> of Eq. (3), the transport cost of Fig. 1 a, b; with X a lower bound, of that."""
        return float(self.plan.cost)

    @cached_property
    def cluster_labels(self) -> Int[Tensor, " k"]:
        """argmax_j T(i, j), Alg. 2, l. 11."""
        return self.plan.matrix.argmax(1)

    @cached_property
    def cluster_distributions(self) -> Float[Tensor, "k c"]:
        """Rows of the plan, which sum to beta_i, brought to sum 1."""
        return self.plan.matrix / self.plan.matrix.sum(1, keepdim=True)

    @cached_property
    def labels(self) -> Int[Tensor, " u"]:
        """One class a row of X_u."""
        return self._spread(self.cluster_labels)

    @cached_property
    def soft_labels(self) -> Float[Tensor, "u c"]:
        """One distribution a row of X_u: its cluster's."""
        return self._spread(self.cluster_distributions.to(self.clustering.centers.dtype))

    @property
    def collisions(self) -> tuple[tuple[int, ...], ...]:
        """Groups of clusters that share a label: the argmax need not be one-to-one."""
        groups = [(self.cluster_labels == j).nonzero().flatten().tolist() for j in self.cluster_labels.unique()]
        return tuple(tuple(group) for group in groups if len(group) > 1)

    @property
    def empty_classes(self) -> tuple[int, ...]:
        """Classes that no row received."""
        used = torch.bincount(self.cluster_labels, minlength=self.plan.matrix.shape[1])
        return tuple((used == 0).nonzero().flatten().tolist())

    @property
    def note(self) -> str | None:
        """What a person should know, if anything: that there are fewer clusters than were asked for."""
        there = len(self.clustering.centers)
        if there == self.asked:
            return None
        rows = f"{len(self.labels)} unlabelled {'row' if len(self.labels) == 1 else 'rows'}"
        return f"{self.asked} clusters were asked of {rows} and {there} {'holds' if there == 1 else 'hold'} any"

    def _spread(self, values: Tensor) -> Tensor:
        """A cluster's value for each of its rows."""
        return values.to(self.clustering.assignment.device)[self.clustering.assignment]

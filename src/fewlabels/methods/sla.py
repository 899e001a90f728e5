"""Sinkhorn label allocation: labels for all unlabelled images at once, by one transport problem (Tai et al., 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from fewlabels import ot
from fewlabels.errors import Diverged
from fewlabels.methods.method import Batch, State, Step
from fewlabels.methods.passes import look, other_view

_TOL = 0.01  # of the whole mass, as theirs
_MOST = 1000  # iterations a solve; the state says how far it came, and the next one goes on from there


@dataclass(frozen=True)
class SLA:
    """-sum_j T_ij log p_ij with p = softmax f(strong view), T the labels allocated to the unlabelled images.

    T minimises sum T_ij (-log q_ij) - reg E(T), q = softmax f(weak view) as last seen, where a row sums to at most 1,
    column j to at most ``bound`` prior_j n, and all of T to at least min(rho, bound) n; rho grows from 0 to 1 with the
    budget.
    One row and one column more, at no cost, take up what the inequalities leave: a coupling for ``ot.sinkhorn``.
    The state's ``error`` is what the marginals of the last solve were off by, as a share of its mass.
    """

    reg: float = 0.01
    bound: float = 1.0  # above 1 where the unlabelled images' classes may differ from the labelled ones'
    every: int = 8  # steps from one solve to the next; meanwhile a batch's rows meet the same column potentials

    def init(self, model: nn.Module, *, classes: int, unlabeled: int, prior: Float[Tensor, " c"]) -> State:
        """Every image undecided: -log q = log c."""
        cost = prior.new_full((unlabeled + 1, classes + 1), math.log(classes))
        cost[-1], cost[:, -1] = 0, 0
        return {
            "cost": cost,
            "rows": cost.new_zeros(unlabeled + 1),
            "columns": cost.new_zeros(classes + 1),
            "error": cost.new_full((), math.inf),
            "prior": prior,
        }

    def loss(self, state: State, model: nn.Module, batch: Batch, step: Step) -> tuple[Float[Tensor, ""], State]:
        """Cross-entropy of the strong view with the share of each label that the weak view is allocated."""
        with torch.no_grad():
            weak = look(model, other_view(batch, "SLA")).log_softmax(1)
            targets = self.allocated(state, weak)
            seen, rows = batch.gather(weak), batch.gather(batch.indices.to(weak.device))
            state["cost"][rows, :-1] = -seen
            if step.index % self.every == 0:
                state = self._solved(state, min(step.fraction, 1.0))
        return -(targets * batch.student.log_softmax(1)).sum(1).mean(), state

    def update(self, state: State, model: nn.Module, step: Step) -> State:
        """All was learned from the batch."""
        return state

    def allocated(self, state: State, weak: Float[Tensor, "u c"]) -> Float[Tensor, "u c"]:
        """The rows of T under the present column potentials; each sums to at most 1, the rest stays unlabelled."""
        scores = torch.cat([weak, weak.new_zeros(len(weak), 1)], 1) + state["columns"]
        return (scores / self.reg).softmax(1)[:, :-1]

    def _solved(self, state: State, rho: float) -> State:
        if not torch.isfinite(state["cost"]).all():
            raise Diverged("some outputs are not finite: the network has diverged; lower the learning rate")
        rows, columns = masses(len(state["cost"]) - 1, self.bound * state["prior"], rho)
        plan = ot.sinkhorn(
            state["cost"],
            rows,
            columns,
            reg=self.reg,
            tol=_TOL,
            max_iter=_MOST,
            start=(state["rows"], state["columns"]),
            on_failure="return",
        )
        error = rows.new_tensor(plan.marginal_error) / rows.sum()
        return {**state, "rows": plan.potentials[0], "columns": plan.potentials[1], "error": error}


def masses(n: int, bounds: Float[Tensor, " c"], rho: float) -> tuple[Float[Tensor, " r"], Float[Tensor, " k"]]:
    """The marginals of the enlarged problem: n images and a row for unfilled columns, c classes and one for unlabelled.

    With B = sum_j bounds_j, what the classes have places for, at least min(rho, B) n of the mass has a label. One unit
    more in each column, and their sum in the last row, keep every potential finite at both ends of the run.

    >>> [m.tolist() for m in masses(4, torch.tensor([0.5, 0.5]), rho=0.5)]
    [[1.0, 1.0, 1.0, 1.0, 5.0], [3.0, 3.0, 3.0]]
    """
    total = float(bounds.sum())
    labeled = min(rho, total)
    rows = bounds.new_ones(n + 1)
    rows[-1] = n * (total - labeled) + len(bounds) + 1
    return rows, torch.cat([n * bounds + 1, bounds.new_tensor([n * (1 - labeled) + 1])])

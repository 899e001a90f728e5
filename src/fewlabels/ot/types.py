"""What goes into a solver and what comes out: frozen records whose other values are properties.

Two names go with them: a solver that stops early raises ``NotConverged``, whose text says what to change, unless it is
asked to return; what it then returns says so itself (``converged``, ``marginal_error``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fewlabels.ot.gradients import refuse_gradient


class NotConverged(RuntimeError):  # noqa: N818 - the name says what happened
    """A solver stopped before its tolerance; the text says what to change."""


@dataclass(frozen=True)
class Plan:
    """A coupling of two weight vectors: T of Eq. (3), with the dual potentials that certify it.

    With f and g the potentials, an entropic plan is ``T = exp((f + g' - X) / reg)`` (minus infinity where there is no
    mass); an exact one has ``f + g' <= X`` with equality where mass moves.

    Where the cost matrix asks for a gradient, ``objective`` has the right one, T (the envelope theorem), and so has
    ``cost`` of an exact plan. ``cost`` of an entropic plan refuses: T itself moves with the costs.
    """

    matrix: Float[Tensor, "n m"]
    cost_matrix: Float[Tensor, "n m"]
    potentials: tuple[Float[Tensor, " n"], Float[Tensor, " m"]]
    reg: float  # 0 for an exact plan
    iterations: int  # sweeps of Sinkhorn; 0 for an exact plan, whose solver does not tell its pivots
    marginal_error: float  # L1 norm over both marginals
    converged: bool

    @cached_property
    def cost(self) -> Float[Tensor, ""]:
        """<T, X>, the price of the transport without its entropy."""
        if self.reg and self.cost_matrix.requires_grad:
            return refuse_gradient(
                self._transport,
                f"<T, X> of an entropic plan (reg {self.reg:g}) has no gradient here, since T moves with the costs: "
                "differentiate plan.objective, or solve with exact",
            )
        return self._transport

    @cached_property
    def _transport(self) -> Float[Tensor, ""]:
        return (self.matrix * self.cost_matrix).sum()

    @cached_property
    def entropy(self) -> Float[Tensor, ""]:
        """E(T) = -sum T (log T - 1), with 0 log 0 = 0."""
        return -(torch.xlogy(self.matrix, self.matrix) - self.matrix).sum()

    @cached_property
    def objective(self) -> Float[Tensor, ""]:
        """<T, X> - reg E(T), what Eq. (3) and (9) minimise."""
        return self._transport - self.reg * self.entropy if self.reg else self._transport


@dataclass(frozen=True)
class Measures:
    """A measure of measures, M = sum_j alpha_j delta_{P_j} (Sec. 4): clouds, their masses, the weights within each."""

    clouds: tuple[Float[Tensor, "_ d"], ...]
    masses: Float[Tensor, " c"]
    weights: tuple[Float[Tensor, " _"], ...] | None = None  # None: uniform within each cloud

    def __len__(self) -> int:
        return len(self.clouds)


@dataclass(frozen=True)
class Clustering:
    """What Algorithm 1 finds: Y (centres), a (their weights), the assignment it induces, and how the objective fell."""

    centers: Float[Tensor, "k d"]
    weights: Float[Tensor, " k"]
    assignment: Int[Tensor, " n"]  # one centre a point
    objectives: tuple[float, ...]  # after each iteration, never rising
    iterations: int
    converged: bool

    @property
    def objective(self) -> float:
        """The value at the end."""
        return self.objectives[-1]

    @cached_property
    def sizes(self) -> Int[Tensor, " k"]:
        """Points of each cluster."""
        return torch.bincount(self.assignment, minlength=len(self.centers))

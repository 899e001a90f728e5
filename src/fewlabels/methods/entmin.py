"""Entropy minimisation: an answer should be decided (Grandvalet and Bengio, 2005)."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from fewlabels.methods.method import Batch, State, Step


@dataclass(frozen=True)
class EntMin:
    """-sum_j p_j log p_j of p = softmax f(x), for the view the student saw; it needs no pass of its own."""

    def init(self, model: nn.Module, *, classes: int, unlabeled: int, prior: Float[Tensor, " c"]) -> State:
        """Nothing to remember."""
        return None

    def loss(self, state: State, model: nn.Module, batch: Batch, step: Step) -> tuple[Float[Tensor, ""], State]:
        """The mean entropy of this batch."""
        log_p = batch.student.log_softmax(1)
        return -(log_p.exp() * log_p).sum(1).mean(), state

    def update(self, state: State, model: nn.Module, step: Step) -> State:
        """Nothing to remember."""
        return state

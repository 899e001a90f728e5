"""Pseudo-Label: a confident answer is taken at its word, within the step (Lee, 2013)."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from fewlabels.methods.losses import weighted_cross_entropy
from fewlabels.methods.method import Batch, State, Step


@dataclass(frozen=True)
class PseudoLabel:
    """1(max p > threshold) (-log p_y) with p = softmax f(x), y = argmax p; it needs no pass of its own."""

    threshold: float = 0.95

    def init(self, model: nn.Module, *, classes: int, unlabeled: int, prior: Float[Tensor, " c"]) -> State:
        """Nothing to remember."""
        return None

    def loss(self, state: State, model: nn.Module, batch: Batch, step: Step) -> tuple[Float[Tensor, ""], State]:
        """Cross-entropy with the confident rows' own labels."""
        best = batch.student.detach().softmax(1).max(1)
        kept = (best.values > self.threshold).to(best.values)
        return weighted_cross_entropy(batch.student, best.indices, kept), state

    def update(self, state: State, model: nn.Module, step: Step) -> State:
        """Nothing to remember."""
        return state

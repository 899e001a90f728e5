"""FixMatch: what a weak view is sure of, a strong view should say (Sohn et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from fewlabels.methods.losses import weighted_cross_entropy
from fewlabels.methods.method import Batch, State, Step
from fewlabels.methods.passes import look, other_view


@dataclass(frozen=True)
class FixMatch:
    """1(max q >= threshold) (-log p_y) with q = softmax f(weak view), y = argmax q, p = softmax f(strong view)."""

    threshold: float = 0.95

    def init(self, model: nn.Module, *, classes: int, unlabeled: int, prior: Float[Tensor, " c"]) -> State:
        """Nothing to remember."""
        return None

    def loss(self, state: State, model: nn.Module, batch: Batch, step: Step) -> tuple[Float[Tensor, ""], State]:
        """Cross-entropy of the strong view with the weak view's confident labels."""
        with torch.no_grad():
            best = look(model, other_view(batch, "FixMatch")).softmax(1).max(1)
        kept = (best.values >= self.threshold).to(best.values)
        return weighted_cross_entropy(batch.student, best.indices, kept), state

    def update(self, state: State, model: nn.Module, step: Step) -> State:
        """Nothing to remember."""
        return state

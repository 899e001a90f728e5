"""SoftMatch: every label counts, the less the further its confidence lies below the usual (Chen et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from fewlabels.methods.losses import weighted_cross_entropy
from fewlabels.methods.method import Batch, State, Step
from fewlabels.methods.passes import look, other_view


@dataclass(frozen=True)
class SoftMatch:
    """w (-log p_y) with y = argmax q and w = exp(-min(m - mu, 0)^2 / (2 s^2 / sigmas^2)), m = max of aligned q.

    q = softmax f(weak view) and p = softmax f(strong view). mu and s^2 follow the mean and the variance of m over the
    run; so does mean q, and ``aligned`` q is q prior / mean q, brought to sum 1. Alignment changes weights alone, as in
    the paper, whose prior is uniform.
    """

    sigmas: float = 2.0
    decay: float = 0.99  # the paper's 0.999 looks back a thousand steps of a million

    def init(self, model: nn.Module, *, classes: int, unlabeled: int, prior: Float[Tensor, " c"]) -> State:
        """mu = 1/c and s^2 = 1, where every label has nearly full weight; no class is favoured yet."""
        uniform = torch.full_like(prior, 1 / classes)
        return {"mean": uniform[0].clone(), "variance": torch.ones_like(uniform[0]), "usual": uniform, "prior": prior}

    def loss(self, state: State, model: nn.Module, batch: Batch, step: Step) -> tuple[Float[Tensor, ""], State]:
        """Cross-entropy of the strong view with the weak view's labels, by their weights."""
        with torch.no_grad():
            weak = look(model, other_view(batch, "SoftMatch")).softmax(1)
            state = self._learn(state, batch.gather(weak))
            weights = self.weights(state, weak)
        return weighted_cross_entropy(batch.student, weak.argmax(1), weights), state

    def update(self, state: State, model: nn.Module, step: Step) -> State:
        """All was learned from the batch."""
        return state

    def weights(self, state: State, weak: Float[Tensor, "u c"]) -> Float[Tensor, " u"]:
        """The truncated Gaussian of each row's confidence."""
        below = (_aligned(state, weak).amax(1) - state["mean"]).clamp_max(0)
        variance = state["variance"].clamp_min(1e-12)  # confidences that differ by rounding alone are equal
        return torch.exp(-(below**2) * self.sigmas**2 / (2 * variance))

    def _learn(self, state: State, rows: Float[Tensor, "a c"]) -> State:
        """Follow the mean q first, then the confidences it aligns; ``rows`` are all ranks'."""
        state = {**state, "usual": state["usual"].lerp(rows.mean(0), 1 - self.decay)}
        best = _aligned(state, rows).amax(1)
        return {
            **state,
            "mean": state["mean"].lerp(best.mean(), 1 - self.decay),
            "variance": state["variance"].lerp(best.var(correction=min(1, len(best) - 1)), 1 - self.decay),
        }


def _aligned(state: State, rows: Float[Tensor, "a c"]) -> Float[Tensor, "a c"]:
    shifted = rows * state["prior"] / state["usual"].clamp_min(1e-6)  # a class may have died out
    return shifted / shifted.sum(1, keepdim=True)

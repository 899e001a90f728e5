"""Pi-Model: two looks at an image should give one answer (Laine and Aila, 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from fewlabels.methods.losses import squared_error
from fewlabels.methods.method import Batch, State, Step
from fewlabels.methods.passes import look, other_view


@dataclass(frozen=True)
class Pi:
    """(1/c) ||softmax f(x') - sg softmax f(x'')||^2 for two views x', x'' of an image.

    No gradient passes through the second look, and batch normalisation does not remember it (Oliver et al., 2018).
    """

    def init(self, model: nn.Module, *, classes: int, unlabeled: int, prior: Float[Tensor, " c"]) -> State:
        """Nothing to remember."""
        return None

    def loss(self, state: State, model: nn.Module, batch: Batch, step: Step) -> tuple[Float[Tensor, ""], State]:
        """The squared error of this batch."""
        with torch.no_grad():
            target = look(model, other_view(batch, "the Pi-Model")).softmax(1)
        return squared_error(batch.student, target), state

    def update(self, state: State, model: nn.Module, step: Step) -> State:
        """Nothing to remember."""
        return state

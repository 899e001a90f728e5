"""Mean Teacher: the answer to agree with is that of the averaged weights (Tarvainen and Valpola, 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from fewlabels.methods.losses import squared_error
from fewlabels.methods.method import Batch, State, Step
from fewlabels.methods.passes import inner, look, other_view


@dataclass(frozen=True)
class MeanTeacher:
    """(1/c) ||softmax f(x'; theta) - softmax f(x''; theta')||^2 with theta' <- decay theta' + (1 - decay) theta.

    The state is theta', by parameter name. The teacher normalises with its batch, as the student does, so running
    statistics are no part of it.
    """

    decay: float = 0.95

    def init(self, model: nn.Module, *, classes: int, unlabeled: int, prior: Float[Tensor, " c"]) -> State:
        """The teacher starts as the student."""
        weights = inner(model).named_parameters()
        return {name: p.detach().clone(memory_format=torch.contiguous_format) for name, p in weights}

    def loss(self, state: State, model: nn.Module, batch: Batch, step: Step) -> tuple[Float[Tensor, ""], State]:
        """The squared error of this batch."""
        with torch.no_grad():
            target = look(model, other_view(batch, "Mean Teacher"), weights=state).softmax(1)
        return squared_error(batch.student, target), state

    @torch.no_grad()
    def update(self, state: State, model: nn.Module, step: Step) -> State:
        """Move the teacher towards the student."""
        student = dict(inner(model).named_parameters())
        torch._foreach_lerp_(list(state.values()), [student[name].data for name in state], 1 - self.decay)
        return state

"""An averaged copy of a network: theta' <- decay theta' + (1 - decay) theta after each step."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn


class Ema:
    """``module`` is the average, in evaluation mode and without gradients.

    Parameters are averaged; buffers (the running statistics) are copied.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.zeros_(model.weight)
    >>> ema = Ema(model)
    >>> _ = nn.init.ones_(model.weight)
    >>> ema.update(model, decay=0.75)
    >>> ema.module.weight.item()
    0.25
    """

    def __init__(self, model: nn.Module) -> None:
        self.module = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model: nn.Module, decay: float) -> None:
        """Move the average a step of 1 - decay towards ``model``."""
        averages = [p.data for p in self.module.parameters()]
        torch._foreach_lerp_(averages, [p.data for p in model.parameters()], 1 - decay)
        if buffers := list(self.module.buffers()):  # 75 of them in WRN-28-2: one call, not a launch each
            torch._foreach_copy_(buffers, list(model.buffers()))

    def state_dict(self) -> dict[str, Any]:
        """The average's weights and buffers."""
        return self.module.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where ``state_dict`` was taken."""
        self.module.load_state_dict(state)

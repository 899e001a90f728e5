"""A value whose gradient would be wrong says so instead of giving it."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


class _Refused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, message: str) -> Tensor:
        ctx.message = message
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> Any:
        raise ValueError(ctx.message)


def refuse_gradient(value: Float[Tensor, ""], message: str) -> Float[Tensor, ""]:
    """The value as it is; ``backward`` through it raises a ValueError with the message.

    >>> cost = torch.ones((), requires_grad=True)
    >>> refuse_gradient(cost, "take plan.objective").item()
    1.0
    """
    return torch.as_tensor(_Refused.apply(value, message))

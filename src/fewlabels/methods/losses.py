"""The few losses that terms are made of, each a mean over rows."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F


def squared_error(logits: Float[Tensor, "u c"], target: Float[Tensor, "u c"]) -> Float[Tensor, ""]:
    """mean_i (1/c) ||softmax(z_i) - t_i||^2.

    >>> import torch
    >>> squared_error(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))
    tensor(0.2500)
    """
    return (logits.softmax(1) - target).square().mean()


def kl(p: Float[Tensor, "u c"], q: Float[Tensor, "u c"]) -> Float[Tensor, ""]:
    """mean_i KL(softmax(p_i) || softmax(q_i)) of logits p and q.

    >>> import torch
    >>> kl(torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 1.0]]))
    tensor(0.1201)
    """
    log_p = p.log_softmax(1)
    return (log_p.exp() * (log_p - q.log_softmax(1))).sum(1).mean()


def weighted_cross_entropy(
    logits: Float[Tensor, "u c"], labels: Int[Tensor, " u"], weights: Float[Tensor, " u"]
) -> Float[Tensor, ""]:
    """mean_i w_i (-log softmax(z_i)[y_i]); a row without weight still counts in the mean.

    >>> import torch
    >>> weighted_cross_entropy(torch.zeros(2, 2), torch.tensor([0, 1]), torch.tensor([1.0, 0.0]))
    tensor(0.3466)
    """
    return (weights * F.cross_entropy(logits, labels, reduction="none")).mean()

"""The plan of Eq. (3) between clusters and classes: small, so Newton's method finds it and Sinkhorn's certifies it."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from fewlabels import ot
from fewlabels.errors import RunError


def couple(cost: Float[Tensor, "k c"], beta: Float[Tensor, " k"], alpha: Float[Tensor, " c"], reg: float) -> ot.Plan:
    """The optimal T of Eq. (3): rows beta, columns alpha.

    Good matches make plans that are nearly permutations, where Sinkhorn's iteration alone needs more than 10,000
    rounds; from the optimal potentials it needs none, and its exit still measures both marginals.

    >>> import torch
    >>> cost = 3.0 * (1 - torch.eye(3, dtype=torch.float64))
    >>> third = torch.full((3,), 1 / 3, dtype=torch.float64)
    >>> plan = couple(cost, third, third, reg=0.1)
    >>> plan.converged, plan.matrix.argmax(1).tolist()
    (True, [0, 1, 2])
    """
    try:
        return ot.sinkhorn(cost, beta, alpha, reg=reg, start="newton")
    except ot.NotConverged as error:
        raise RunError(f"matching clusters and classes: {error}") from None

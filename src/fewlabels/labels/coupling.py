"""The plan of Eq. (3) between clusters and classes: small, so Newton's method finds it and Sinkhorn's certifies it."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from fewlabels import ot
from fewlabels.errors import RunError

_STEPS = 100
_ENOUGH = 1e-10  # L1 distance of the column sums from alpha: a hundredth of what Sinkhorn's exit asks


def couple(cost: Float[Tensor, "k c"], beta: Float[Tensor, " k"], alpha: Float[Tensor, " c"], reg: float) -> ot.Plan:
    """The optimal T of Eq. (3): rows beta, columns alpha.

    Good matches make plans that are nearly permutations, where Sinkhorn's iteration alone needs more than 10,000
    rounds; from the optimal potentials it needs none, and its exit still measures both marginals.

    >>> cost = 3.0 * (1 - torch.eye(3, dtype=torch.float64))
    >>> third = torch.full((3,), 1 / 3, dtype=torch.float64)
    >>> plan = couple(cost, third, third, reg=0.1)
    >>> plan.converged, plan.matrix.argmax(1).tolist()
    (True, [0, 1, 2])
    """
    held = alpha > 0
    g = torch.full_like(alpha, -torch.inf)
    g[held] = reg * newton_potentials(-cost[:, held] / reg, beta, alpha[held])
    try:
        return ot.sinkhorn(cost, beta, alpha, reg=reg, start=(torch.zeros_like(beta), g))
    except ot.NotConverged as error:
        raise RunError(f"matching clusters and classes: {error}") from None


def newton_potentials(
    scores: Float[Tensor, "k c"], beta: Float[Tensor, " k"], alpha: Float[Tensor, " c"]
) -> Float[Tensor, " c"]:
    """The g that maximises the concave dual D(g) = alpha.g - sum_i beta_i log sum_j exp(scores_ij + g_j).

    With T_ij = beta_i softmax_j(scores_i + g) the gradient is alpha - T'1 and minus the Hessian is
    H = diag(T'1) - T' diag(1 / beta) T, singular along the constants, which change nothing: adding alpha alpha' removes
    them. A ridge of a hundredth of the error keeps the first steps short; a step is halved until D rises enough.

    >>> half = torch.tensor([0.5, 0.5], dtype=torch.float64)
    >>> newton_potentials(torch.zeros(2, 2).double(), half, torch.tensor([0.2, 0.8], dtype=torch.float64))
    tensor([-0.6931,  0.6931], dtype=torch.float64)
    """
    g = torch.zeros_like(alpha)
    for _ in range(_STEPS):
        T = beta[:, None] * (scores + g).softmax(1)
        columns = T.sum(0)
        slope = alpha - columns
        error = float(slope.abs().sum())
        if error < _ENOUGH:
            break
        H = torch.diag(columns) - T.T @ (T / beta[:, None])
        step = torch.linalg.solve(H + torch.diag(max(1e-13, 0.01 * error) * alpha) + alpha.outer(alpha), slope)
        g = g + _length(scores, beta, alpha, g, step, float(slope @ step)) * step
        g = g - g.mean()
    return g


def _length(scores: Tensor, beta: Tensor, alpha: Tensor, g: Tensor, step: Tensor, rise: float) -> float:
    """The longest of 1, 1/2, 1/4, ... that gains a ten-thousandth of what the slope promises."""

    def dual(g: Tensor) -> float:
        return float(alpha @ g - beta @ (scores + g).logsumexp(1))

    here, length = dual(g), 1.0
    while length > 1e-10 and dual(g + length * step) < here + 1e-4 * length * rise:
        length /= 2
    return length

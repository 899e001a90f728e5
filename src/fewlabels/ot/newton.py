"""Newton's method on the dual of Eq. (3), for the problems on which sweeps crawl.

Where a plan is nearly a permutation, or reg small beside the costs, each sweep moves the potentials by a fraction of
reg and ten thousand are not enough. A Newton step costs as much as a hundred sweeps or more, and some thirty suffice.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

_ENOUGH = 0.01, 1e-13  # of the tolerance, and rounding: the L1 error of the columns that is small enough
_STEPS = 100  # at most; some thirty suffice
_LOOSE = 1e-3  # the error that is enough on a wider kernel
_STAGE = 20  # steps at most on each


def newton_potentials(
    cost: Float[Tensor, "n m"], a: Float[Tensor, " n"], b: Float[Tensor, " m"], reg: float, tol: float = 1e-8
) -> Float[Tensor, " m"]:
    """The g that maximises ``D(g) = b.g - reg sum_i a_i log sum_j exp((g_j - C_ij) / reg)``, for positive masses.

    For sweeps that are to end at ``tol``. In float64 whatever is given; from wide kernels to narrow ones, so that each
    step begins near its end. The work goes with the square of the shorter side, whose potentials are the unknowns.

    >>> half = torch.tensor([0.5, 0.5])
    >>> newton_potentials(torch.zeros(2, 2), half, torch.tensor([0.2, 0.8]), 1.0).diff()
    tensor([1.3863], dtype=torch.float64)
    """
    cost, a, b = cost.double(), a.double(), b.double()
    if len(a) < len(b):
        f = newton_potentials(cost.T, b, a, reg, tol)
        return _half_sweep(cost.T, b, f, reg)
    g = cost.amin(0)
    widest = max(float(cost.max()) / 16, reg)
    for i in range(math.ceil(math.log(widest / reg, 4))):
        g = _ascend(cost, a, b, widest / 4**i, g, _LOOSE, _STAGE)
    return _ascend(cost, a, b, reg, g, max(_ENOUGH[0] * tol, _ENOUGH[1]), _STEPS)


def _ascend(
    cost: Float[Tensor, "n m"],
    a: Float[Tensor, " n"],
    b: Float[Tensor, " m"],
    reg: float,
    g: Float[Tensor, " m"],
    tol: float,
    steps: int,
) -> Float[Tensor, " m"]:
    """Newton steps until the columns are off by at most ``tol`` in the L1 norm.

    With ``T_ij = a_i softmax_j((g_j - C_ij) / reg)`` the slope of D is ``b - T' 1`` and ``-reg`` times its second
    derivative ``diag(T' 1) - T' diag(1 / a) T``, singular along the constants, which change nothing: adding ``b b'``
    removes them. A ridge of a hundredth of the error keeps the first steps short, and a sweep of App. A after each
    step places what the slope, small as the masses there, does not tell.
    """
    root = a.sqrt()[:, None]
    for _ in range(steps):
        S = ((g - cost) / reg).softmax(1).mul_(root)  # T = diag(root) S
        columns = root[:, 0] @ S
        slope = b - columns
        error = float(slope.abs().sum())
        if error <= tol:
            break
        H = (S.T @ S).neg_()
        H += torch.diag(columns + max(1e-13, 0.01 * error) * b) + b.outer(b)
        g = _climb(cost, a, b, reg, g, reg * torch.linalg.solve(H, slope), slope)
        g = _half_sweep(cost.T, b, _half_sweep(cost, a, g, reg), reg)
    return g


def _half_sweep(
    cost: Float[Tensor, "n m"], a: Float[Tensor, " n"], g: Float[Tensor, " m"], reg: float
) -> Float[Tensor, " n"]:
    """The f that gives the rows their masses."""
    return reg * (a.log() - torch.logsumexp((g - cost) / reg, 1))


def _climb(
    cost: Float[Tensor, "n m"],
    a: Float[Tensor, " n"],
    b: Float[Tensor, " m"],
    reg: float,
    g: Float[Tensor, " m"],
    step: Float[Tensor, " m"],
    slope: Float[Tensor, " m"],
) -> Float[Tensor, " m"]:
    """The longest of 1, 1/2, 1/4, ... of the step that gains a ten-thousandth of what the slope promises.

    Optimal potentials spread no further than the costs and reg times the logarithms of the masses. A step beyond
    the greatest cost comes of rounding, and the cost itself would be lost in its sum with such a potential.
    """

    def dual(g: Tensor) -> float:
        return float(b @ g - reg * (a @ torch.logsumexp((g - cost) / reg, 1)))

    highest = float(cost.max())
    step = step - step.mean()
    here, promise = dual(g), float(slope @ step)
    rounding = 1e-15 * highest  # near the top a gain is lost in it
    length = min(1.0, max(highest, reg) / max(float(step.abs().max()), 1e-300))
    while length > 1e-10 and dual(g + length * step) < here + 1e-4 * length * promise - rounding:
        length /= 2
    return g + length * step

"""Newton's method on the dual of Eq. (3), for the problems on which sweeps crawl.

Where a plan is nearly a permutation, or reg small beside the costs, each sweep moves the potentials by a fraction of
reg and ten thousand are not enough. A Newton step costs as much as a hundred sweeps or more, and some thirty suffice.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

_LOOSE = 1e-2  # L1 error of the columns that is enough on a wider kernel
_STAGE = 20  # steps at most on each


def newton_potentials(
    cost: Float[Tensor, "n m"], a: Float[Tensor, " n"], b: Float[Tensor, " m"], reg: float, tol: float, max_iter: int
) -> tuple[Float[Tensor, " m"], int]:
    """The g that maximises ``D(g) = b.g - reg sum_i a_i log sum_j exp((g_j - C_ij) / reg)``, and the steps it took.

    In float64 whatever is given; from wide kernels to narrow ones, so that each step begins near its end. The work goes
    with the square of the shorter side, whose potentials are the unknowns.

    >>> half = torch.tensor([0.5, 0.5])
    >>> newton_potentials(torch.zeros(2, 2), half, torch.tensor([0.2, 0.8]), 1.0, 1e-8, 100)[0].diff()
    tensor([1.3863], dtype=torch.float64)
    """
    cost, a, b = cost.double(), a.double(), b.double()
    if len(a) < len(b):
        f, steps = newton_potentials(cost.T, b, a, reg, tol, max_iter)
        return reg * (b.log() - torch.logsumexp((f[:, None] - cost) / reg, 0)), steps
    g, steps = cost.amin(0), 0
    widest = max(float(cost.max()) / 16, reg)
    for i in range(math.ceil(math.log(widest / reg, 4))):
        g, taken = _ascend(cost, a, b, widest / 4**i, g, _LOOSE, min(_STAGE, max_iter - steps))
        steps += taken
    g, taken = _ascend(cost, a, b, reg, g, tol, max_iter - steps)
    return g, steps + taken


def _ascend(
    cost: Float[Tensor, "n m"],
    a: Float[Tensor, " n"],
    b: Float[Tensor, " m"],
    reg: float,
    g: Float[Tensor, " m"],
    tol: float,
    max_iter: int,
) -> tuple[Float[Tensor, " m"], int]:
    """Newton steps until the columns are off by at most ``tol`` in the L1 norm.

    With ``T_ij = a_i softmax_j((g_j - C_ij) / reg)`` the slope of D is ``b - T' 1`` and ``-reg`` times its second
    derivative ``diag(T' 1) - T' diag(1 / a) T``, singular along the constants, which change nothing: adding ``b b'``
    removes them. A ridge of a hundredth of the error keeps the first steps short.
    """
    root = a.sqrt()[:, None]
    for step in range(max_iter):
        S = ((g - cost) / reg).softmax(1).mul_(root)  # T = diag(root) S
        columns = root[:, 0] @ S
        slope = b - columns
        error = float(slope.abs().sum())
        if error <= tol:
            return g, step
        H = (S.T @ S).neg_()
        H += torch.diag(columns + max(1e-13, 0.01 * error) * b) + b.outer(b)
        g = _climb(cost, a, b, reg, g, reg * torch.linalg.solve(H, slope), slope)
    return g, max_iter


def _climb(
    cost: Float[Tensor, "n m"],
    a: Float[Tensor, " n"],
    b: Float[Tensor, " m"],
    reg: float,
    g: Float[Tensor, " m"],
    step: Float[Tensor, " m"],
    slope: Float[Tensor, " m"],
) -> Float[Tensor, " m"]:
    """The longest of 1, 1/2, 1/4, ... of the step that gains a ten-thousandth of what the slope promises."""

    def dual(g: Tensor) -> float:
        return float(b @ g - reg * (a @ torch.logsumexp((g - cost) / reg, 1)))

    here, promise = dual(g), float(slope @ step)
    rounding = 1e-15 * float(cost.max())  # near the top a gain is lost in it
    length = 1.0
    while length > 1e-10 and dual(g + length * step) < here + 1e-4 * length * promise - rounding:
        length /= 2
    return g + length * step

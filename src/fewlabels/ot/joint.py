"""Couplings of several measures with one measure whose masses are free: they agree on their row sums."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse
from scipy.optimize import linprog
from torch import Tensor

from fewlabels.ot.types import NotConverged


def joint_exact(costs: list[Tensor], masses: list[Tensor], w: Float[Tensor, " l"]) -> list[Tensor]:
    """``min sum_l w_l <T_l, M_l>`` over a and ``T_l >= 0``, ``T_l 1 = a``, ``T_l' 1 = b_l``: a linear program."""
    k = len(costs[0])
    sizes = [cost.shape[1] for cost in costs]
    prices = [float(weight) * cost.cpu().numpy().ravel() for weight, cost in zip(w, costs, strict=True)]
    rows = sparse.block_diag([sparse.kron(sparse.eye(k), np.ones((1, n))) for n in sizes])
    columns = sparse.block_diag([sparse.kron(np.ones((1, k)), sparse.eye(n)) for n in sizes])
    agree = sparse.vstack([-sparse.eye(k)] * len(costs))  # T_l 1 - a = 0
    equations = sparse.bmat([[rows, agree], [columns, None]], format="csr")
    right = np.concatenate([np.zeros(k * len(costs)), *[b.cpu().numpy() for b in masses]])
    found = linprog(np.concatenate([*prices, np.zeros(k)]), A_eq=equations, b_eq=right, method="highs")
    if not found.success:
        raise NotConverged(f"the linear program of {equations.shape[1]} entries stopped: {found.message}: take reg > 0")
    ends = np.cumsum([k * n for n in sizes])
    parts = np.split(found.x, ends)[:-1]  # the last is a
    return [torch.from_numpy(part.reshape(k, -1)).to(cost) for part, cost in zip(parts, costs, strict=True)]


def joint_sinkhorn(
    costs: list[Tensor],
    masses: list[Tensor],
    w: Float[Tensor, " l"],
    reg: float,
    tol: float = 1e-9,
    max_iter: int = 10_000,
) -> list[Tensor]:
    """The same with ``- reg E(T_l)``: scale the columns of each to b_l, then the rows of all to their geometric mean.

    Stops when the columns, after the rows were scaled, are off by at most ``tol`` in the L1 norm.
    """
    logits = [-cost / reg for cost in costs]
    f = torch.zeros(len(costs), len(costs[0]), dtype=w.dtype, device=w.device)
    for _ in range(max_iter):
        g = [b.log() - (z + row[:, None]).logsumexp(0) for z, row, b in zip(logits, f, masses, strict=True)]
        took = torch.stack([(z + column).logsumexp(1) for z, column in zip(logits, g, strict=True)])
        f = w @ took - took  # log a - log (K_l v_l): the w-mean of f stays 0
        parts = zip(logits, f, g, strict=True)
        plans = [(z + row[:, None] + column).exp() for z, row, column in parts]
        error = max(float((T.sum(0) - b).abs().sum()) for T, b in zip(plans, masses, strict=True))
        if error <= tol:
            return plans
    raise NotConverged(
        f"{len(costs)} couplings stopped at {max_iter} iterations with marginal error {error:.1e} (tol {tol:.0e}): "
        f"raise reg (now {reg:g}; the costs reach {max(float(cost.max()) for cost in costs):.3g})"
    )

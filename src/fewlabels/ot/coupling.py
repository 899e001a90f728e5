"""The maximisation step of Algorithm 1 in closed form: how a coupling moves the mass of the points to the centres."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

_BLOCK = {"cpu": 1 << 18, "cuda": 1 << 24}  # entries of a block of the cost: what the second-level cache holds


@dataclass(frozen=True)
class Coupled:
    """What the expectation step needs of the coupling T, k x n, without T itself."""

    masses: Float[Tensor, " k"]  # a = T 1
    sums: Float[Tensor, "k d"]  # T X
    objective: float  # <T, M> - reg E(T)
    assignment: Int[Tensor, " n"]  # the centre that takes most of a point
    potentials: Float[Tensor, " k"] | None = None  # of the centres, where the coupling is balanced


def nearest_coupling(
    x: Float[Tensor, "n d"], b: Float[Tensor, " n"] | None, y: Float[Tensor, "k d"], spread: float
) -> Coupled:
    """``reg = 0`` and free weights: all of a point goes to its nearest centre, which is Lloyd's step.

    ``spread`` is ``sum_j b_j ||x_j||^2``, which the steps have in common.
    """
    half = y.square().sum(1) / 2
    sums, assignment, gained = torch.zeros_like(y), [], 0.0
    for rows in _blocks(x, len(y)):
        best, index = torch.addmm(half, x[rows], y.T, beta=-1).max(1)  # x.y - |y|^2 / 2 is largest where M is least
        sums.index_add_(0, index, x[rows] if b is None else x[rows] * b[rows, None])
        gained += float(best.sum(dtype=torch.float64) if b is None else best.double() @ b[rows].double())
        assignment.append(index)
    index = torch.cat(assignment)
    masses = torch.bincount(index, weights=b, minlength=len(y)).to(y)
    n = len(x) if b is None else 1
    return Coupled(masses / n, sums / n, max(0.0, spread - 2 * gained / n), index)


def softmax_coupling(x: Float[Tensor, "n d"], b: Float[Tensor, " n"], y: Float[Tensor, "k d"], reg: float) -> Coupled:
    """Free weights: the minimum over a, too, of ``<T, M> - reg E(T)`` is at ``T_ij = b_j softmax_i(-M_ij / reg)``."""
    half = y.square().sum(1) / 2
    sums, masses, assignment, cost = torch.zeros_like(y), torch.zeros_like(half), [], 0.0
    for rows in _blocks(x, len(y)):
        part, mass = x[rows], b[rows]
        score = torch.addmm(half, part, y.T, beta=-1)  # (|x|^2 - M) / 2
        best, index = score.max(1, keepdim=True)
        T = score.sub_(best).div_(reg / 2).exp_()  # at most 1, and 1 somewhere: no reg makes it empty
        total = T.sum(1, keepdim=True)
        T.mul_(mass[:, None] / total)
        masses += T.sum(0)
        sums.addmm_(T.T, part)
        distances = part.square().sum(1).sub_(best.squeeze(1), alpha=2).clamp_min_(0)
        cost += float(mass @ (distances - reg * total.squeeze(1).log()))
        assignment.append(index.squeeze(1))
    entropy_of_b = float(torch.xlogy(b, b).sum() - b.sum())
    return Coupled(masses, sums, cost + reg * entropy_of_b, torch.cat(assignment))


def _blocks(x: Float[Tensor, "n d"], k: int) -> Iterator[slice]:
    size = max(1, _BLOCK[x.device.type] // max(k, x.shape[1]))
    return (slice(start, start + size) for start in range(0, len(x), size))

"""Algorithm 1: clusters of one measure as its Wasserstein barycentre on k points."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from fewlabels.ot.alternate import Couple, alternate
from fewlabels.ot.balanced import exact_coupling, sinkhorn_coupling
from fewlabels.ot.checks import check_cloud, check_dtype, check_loop, check_weights
from fewlabels.ot.coupling import nearest_coupling, softmax_coupling
from fewlabels.ot.seeding import starting_centers
from fewlabels.ot.types import Clustering


def barycenter_clusters(
    x: Float[Tensor, "n d"],
    k: int,
    *,
    reg: float = 0.0,
    weights: Literal["free", "uniform"] | Float[Tensor, " k"] = "free",
    b: Float[Tensor, " n"] | None = None,
    init: Float[Tensor, "i d"] | None = None,
    generator: Generator | None = None,
    tol: float = 1e-6,
    max_iter: int = 300,
) -> Clustering:
    """``min <T, M> - reg E(T)`` over centres Y, weights a in Theta and couplings T of a and b (Alg. 1).

    ``M(i, j) = ||y_i - x_j||^2``, ``b`` the weights of the points (even when not given), and ``weights`` is Theta:

    - ``"free"``, the simplex: the best T has a closed form, ``T_ij = b_j softmax_i(-M_ij / reg)`` and ``a = T 1``;
      ``reg = 0`` sends each point to its nearest centre and is Lloyd's algorithm.
    - ``"uniform"`` or a tensor of k masses: a is fixed, T is the entropic coupling of a and b or, at ``reg = 0``, the
      exact one. The latter needs no linear program of n x k: only points between centres are undecided, the program of
      those alone gives potentials, and the potentials certify the others or name those to add.

    Every iteration lowers the objective; one whose gain is lost in rounding is not taken. Stops when an iteration gains
    less than ``tol`` of the spread of the points, ``sum_j b_j ||x_j - mean||^2``; ``converged`` says whether it did.
    A cluster that takes no mass keeps its centre and has weight 0. ``init`` may give fewer than k centres, or none: the
    others are drawn by k-means++.

    >>> x = torch.tensor([[0.0], [1.0], [8.0], [9.0], [10.0]])
    >>> found = barycenter_clusters(x, 2, init=torch.tensor([[0.0], [1.0]]))
    >>> found.centers.flatten(), found.weights, found.assignment
    (tensor([0.5000, 9.0000]), tensor([0.4000, 0.6000]), tensor([0, 0, 1, 1, 1]))
    """
    _check(x, k, reg, init, tol, max_iter)
    b, a = _masses(x, k, weights, b)
    mean = x.mean(0) if b is None else b @ x
    points = x - mean  # near 0 a matrix product keeps the digits of the distances
    squares = points.square().sum(1).double()
    spread = float(squares.mean() if b is None else b.double() @ squares)
    start = starting_centers(points, b, k, None if init is None else init - mean, generator)
    y, coupled, objectives, done = alternate(_coupling(points, b, a, reg, spread), start, tol * spread, max_iter)
    return Clustering(y + mean, coupled.masses, coupled.assignment, objectives, len(objectives), done)


def _coupling(
    x: Float[Tensor, "n d"], b: Float[Tensor, " n"] | None, a: Float[Tensor, " k"] | None, reg: float, spread: float
) -> Couple:
    """The step that Theta and reg ask for."""
    even = x.new_full((len(x),), 1 / len(x)) if b is None else b
    if a is None:
        if reg == 0:
            return lambda y, _: nearest_coupling(x, b, y, spread)
        return lambda y, _: softmax_coupling(x, even, y, reg)
    if reg == 0:
        return lambda y, previous: exact_coupling(x, even, a, y, previous)
    return lambda y, _: sinkhorn_coupling(x, even, a, y, reg)


def _masses(
    x: Float[Tensor, "n d"],
    k: int,
    weights: Literal["free", "uniform"] | Float[Tensor, " k"],
    b: Float[Tensor, " n"] | None,
) -> tuple[Tensor | None, Tensor | None]:
    """b and a with sum 1; None where they are even and free."""
    if b is not None:
        check_dtype(x=x, b=b)
        b = b / check_weights("b", b, len(x))
    if isinstance(weights, str):
        if weights not in ("free", "uniform"):
            raise ValueError(f"weights is {weights!r}: give 'free', 'uniform' or a tensor of {k} masses")
        return b, None if weights == "free" else x.new_full((k,), 1 / k)
    check_dtype(x=x, weights=weights)
    total = check_weights("weights", weights, k)
    if abs(total - 1) > 1e-4:
        raise ValueError(f"weights sums to {total:.6g}: divide it by its sum, the masses of the clusters sum to 1")
    return b, weights / total


def _check(x: Tensor, k: int, reg: float, init: Tensor | None, tol: float, max_iter: int) -> None:
    check_cloud("x", x)
    check_dtype(x=x) if init is None else check_dtype(x=x, init=init)
    if not 1 <= k <= len(x):
        raise ValueError(f"{k} clusters of {len(x)} points: ask for 1 to {len(x)}")
    if init is not None:
        if init.ndim != 2 or init.shape[1] != x.shape[1] or len(init) > k:
            raise ValueError(
                f"init has shape {tuple(init.shape)} for {k} centres of dimension {x.shape[1]}: "
                "give one centre a row, as many or fewer"
            )
        if not bool(torch.isfinite(init).all()):
            raise ValueError("init has coordinates that are not finite: give finite centres")
    if not (reg == 0 or torch.finfo(x.dtype).tiny <= reg < float("inf")):
        raise ValueError(f"reg is {reg:g}: give 0 or a positive number that {x.dtype} can hold")
    check_loop(tol, max_iter)

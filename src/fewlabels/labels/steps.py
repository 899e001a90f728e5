"""The steps of ``match``: scale, cluster, price all pairs; ``couple`` has a file of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from jaxtyping import Float
from torch import Generator, Tensor

from fewlabels import ot
from fewlabels.errors import InputError
from fewlabels.ot.wasserstein import Solver

Weights = str  # "free", "uniform" or "prior"
Pairs = str | Solver  # "bound", "exact" or a solver; checks.options refuses other words
Theta = Literal["free", "uniform"] | Float[Tensor, " k"]


def one_hot_spread(
    x_l: Float[Tensor, "l d"], x_u: Float[Tensor, "u d"], alpha: Float[Tensor, " c"]
) -> tuple[Float[Tensor, "l d"], Float[Tensor, "u d"]]:
    """Features with the total variance of one-hot rows of those classes, 1 - sum alpha^2, which lambda is meant for.

    >>> import torch
    >>> x_l, x_u = one_hot_spread(torch.tensor([[0.0], [80.0]]), torch.tensor([[40.0]]), torch.tensor([0.5, 0.5]))
    >>> torch.cat([x_l, x_u]).square().mean()
    tensor(0.5000)
    """
    unit = max(float(x_l.abs().max()), float(x_u.abs().max())) or 1.0  # over it, squares stay in range
    x_l, x_u, n = x_l / unit, x_u / unit, len(x_l) + len(x_u)
    mean = (x_l.sum(0) + x_u.sum(0)) / n
    x_l, x_u = x_l - mean, x_u - mean
    variance = float(x_l.square().sum() + x_u.square().sum()) / n
    factor = (float(1 - alpha.square().sum()) / variance) ** 0.5 if variance > 0 else 1.0
    return x_l * factor, x_u * factor


def theta(weights: Weights, alpha: Float[Tensor, " c"], clusters: int) -> Theta:
    """Where the weights of the clusters may lie: Theta of Alg. 1, l. 1."""
    if weights != "prior":
        return "uniform" if weights == "uniform" else "free"
    if clusters != len(alpha):
        raise InputError(
            f"weights='prior' gives the mass of each of {len(alpha)} classes to one cluster and there are {clusters}: "
            f"ask for {len(alpha)} clusters, or use weights='uniform'"
        )
    return alpha


def cluster(
    x_u: Float[Tensor, "u d"],
    k: int,
    means: Float[Tensor, "c d"],
    within: Theta,
    generator: Generator | None,
) -> ot.Clustering:
    """Alg. 1 from the means of the labelled classes, further centres by k-means++; clusters without a row leave.

    An empty cluster in the coupling would take mass, and its label, from one that has rows.
    """
    if len(x_u) < k:  # a cluster a row is the finest there is
        means, within, k = x_u, "free", len(x_u)
    within = within.to(x_u) if isinstance(within, Tensor) else within
    found = ot.barycenter_clusters(x_u, k, weights=within, init=means, generator=generator)
    held, assignment = found.assignment.unique(return_inverse=True)
    return replace(found, centers=found.centers[held], weights=found.weights[held], assignment=assignment)


def all_pairs(qs: tuple[Tensor, ...], ps: tuple[Tensor, ...], order: float, solver: Pairs) -> Float[Tensor, "k c"]:
    """X(i, j) = W_order(Q_i, P_j), or its diagonal-Gaussian lower bound; on the CPU, in float64.

    The bound gives the labels of the exact distances for a thousandth of their time (docs/decisions/pair-costs.md).
    """
    if solver == "bound":
        X = ot.gaussian_matrix(qs, ps)
    else:
        X = ot.wasserstein_matrix(qs, ps, order, solver=ot.Exact() if isinstance(solver, str) else solver)
    return X.cpu().double()

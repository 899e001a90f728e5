"""Eq. (4): the measure on k points that is nearest to several measures, in its places and, by option, its masses."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from fewlabels.ot.alternate import alternate
from fewlabels.ot.bounds import Clouds, CloudWeights, family_shares
from fewlabels.ot.checks import check_loop, check_pair, check_weights
from fewlabels.ot.cost import squared_distances
from fewlabels.ot.coupling import Coupled
from fewlabels.ot.exact import exact
from fewlabels.ot.joint import joint_exact, joint_sinkhorn
from fewlabels.ot.seeding import starting_centers
from fewlabels.ot.sinkhorn import sinkhorn
from fewlabels.ot.types import Clustering


def free_support_barycenter(
    measures: Clouds,
    weights: Float[Tensor, " l"] | None,
    support: int | Float[Tensor, "k d"],
    *,
    support_weights: Literal["uniform", "free"] | Float[Tensor, " k"] = "uniform",
    b: CloudWeights | None = None,
    reg: float = 0.0,
    generator: Generator | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> Clustering:
    """``min sum_l w_l (<T_l, M_l> - reg E(T_l))`` over k points Y, couplings T_l of a and b_l and, if free, a (Eq. 4).

    ``weights`` are the w_l (None: even) and ``b`` the weights within each measure. ``support`` is k, for a start by
    k-means++ on all points, or the k points to start from. ``support_weights`` fixes a, evenly or as given, or frees
    it: then the couplings share their row sums and are found together, at ``reg = 0`` by one linear program of all of
    them (up to some 1e5 entries; above that take ``reg > 0``), else by scaling each in turn. Given the couplings, the
    best place of a point is the mean of what it takes; one without mass keeps its place. Every iteration lowers the
    objective; stops when one gains less than ``tol`` of the spread of the points. ``assignment`` runs over the points
    of all measures, one measure after the other.

    >>> left, right = torch.tensor([[0.0], [1.0]]), torch.tensor([[4.0], [7.0]])
    >>> found = free_support_barycenter([left, right], None, torch.tensor([[0.0], [9.0]]))
    >>> found.centers.flatten(), found.weights  # in one dimension, the means of the quantiles
    (tensor([2., 4.]), tensor([0.5000, 0.5000]))
    """
    w, masses = _masses(measures, weights, b)
    points = torch.cat([cloud.detach().double() for cloud in measures])
    each = torch.cat([share * mass for share, mass in zip(w, masses, strict=True)])
    mean = each @ points
    points = points - mean
    if isinstance(support, int):
        if not 1 <= support <= len(points):
            raise ValueError(f"{support} support points of {len(points)} points: ask for 1 to {len(points)}")
        start = starting_centers(points, each, support, None, generator)
    else:
        check_pair("support", support, "cloud 0", measures[0])
        start = support.double() - mean
    if not 0 <= reg < float("inf"):
        raise ValueError(f"reg is {reg:g}: give 0 or a positive number")
    check_loop(tol, max_iter)
    a = _fixed(support_weights, start)
    clouds = points.split([len(cloud) for cloud in measures])

    def couple(y: Float[Tensor, "k d"], _: Coupled | None) -> Coupled:
        costs = [squared_distances(y, cloud) for cloud in clouds]
        plans = _plans(costs, a, masses, w, reg)
        T = torch.cat([weight * plan for weight, plan in zip(w, plans, strict=True)], 1)
        objective = sum(
            float(weight * ((plan * cost).sum() + reg * (torch.xlogy(plan, plan) - plan).sum()))
            for weight, plan, cost in zip(w, plans, costs, strict=True)
        )
        return Coupled(T.sum(1) if a is None else a, T @ points, objective, T.argmax(0))

    gain = tol * float(each @ points.square().sum(1))
    y, coupled, objectives, done = alternate(couple, start, gain, max_iter)
    dtype = measures[0].dtype
    centers, found = (y + mean).to(dtype), coupled.masses.to(dtype)
    return Clustering(centers, found, coupled.assignment, objectives, len(objectives), done)


def _plans(
    costs: list[Tensor], a: Float[Tensor, " k"] | None, masses: list[Tensor], w: Float[Tensor, " l"], reg: float
) -> list[Tensor]:
    """Each measure's own optimum where a is given, the joint one where it is free."""
    if a is None:
        return joint_sinkhorn(costs, masses, w, reg) if reg else joint_exact(costs, masses, w)
    pairs = zip(costs, masses, strict=True)
    return [(sinkhorn(M, a, b, reg=reg) if reg else exact(M, a, b)).matrix for M, b in pairs]


def _masses(
    measures: Clouds, weights: Float[Tensor, " l"] | None, b: CloudWeights | None
) -> tuple[Float[Tensor, " l"], list[Tensor]]:
    """The w_l and each b_l, with sum 1."""
    masses = family_shares(measures, b)
    if weights is None:
        return masses[0].new_full((len(measures),), 1 / len(measures)), masses
    return weights.double() / check_weights("weights", weights, len(measures)), masses


def _fixed(
    support_weights: Literal["uniform", "free"] | Float[Tensor, " k"], start: Float[Tensor, "k d"]
) -> Float[Tensor, " k"] | None:
    """a where it is given."""
    k = len(start)
    if isinstance(support_weights, Tensor):
        return support_weights.to(start) / check_weights("support_weights", support_weights, k)
    if support_weights not in ("uniform", "free"):
        raise ValueError(f"support_weights is {support_weights!r}: give 'uniform', 'free' or a tensor of {k} masses")
    return start.new_full((k,), 1 / k) if support_weights == "uniform" else None

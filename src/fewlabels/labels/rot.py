"""Algorithm 2, lines 3 to 11: pseudo-labels by matching clusters of unlabelled rows with classes of labelled ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from fewlabels import ot
from fewlabels.errors import InputError, RunError
from fewlabels.labels.checks import class_counts, class_masses, rows_to_label
from fewlabels.labels.types import Outputs, PseudoLabels
from fewlabels.ot.wasserstein import Solver

Weights = Literal["free", "uniform", "prior"]
Pairs = Solver | Literal["exact"]


@dataclass(frozen=True)
class Matching:
    """A plan from clusters (rows) to classes (columns), and what follows from it for each row of X_u."""

    plan: ot.Plan
    clustering: ot.Clustering  # clusters that hold no row have left it, so cluster i is row i of the plan
    asked: int  # clusters asked for

    @property
    def cost_matrix(self) -> Float[Tensor, "k c"]:
        """X(i, j) = W(Q_i, P_j), Alg. 2, l. 8."""
        return self.plan.cost_matrix

    @property
    def cost(self) -> float:
        """<T, X> of Eq. (3), the transport cost of Fig. 1 a, b."""
        return float(self.plan.cost)

    @cached_property
    def cluster_labels(self) -> Int[Tensor, " k"]:
        """argmax_j T(i, j), Alg. 2, l. 11."""
        return self.plan.matrix.argmax(1)

    @cached_property
    def labels(self) -> Int[Tensor, " u"]:
        """One class a row of X_u."""
        return self.cluster_labels[self.clustering.assignment]

    @cached_property
    def soft_labels(self) -> Float[Tensor, "u c"]:
        """One distribution a row of X_u: its cluster's row of the plan, which sums to beta_i, brought to sum 1."""
        rows = self.plan.matrix / self.plan.matrix.sum(1, keepdim=True)
        return rows.to(self.clustering.centers.dtype)[self.clustering.assignment]

    @property
    def collisions(self) -> tuple[tuple[int, ...], ...]:
        """Groups of clusters that share a label: the argmax need not be one-to-one."""
        groups = [(self.cluster_labels == j).nonzero().flatten().tolist() for j in self.cluster_labels.unique()]
        return tuple(tuple(group) for group in groups if len(group) > 1)

    @property
    def empty_classes(self) -> tuple[int, ...]:
        """Classes that no row received."""
        used = torch.bincount(self.cluster_labels, minlength=self.plan.matrix.shape[1])
        return tuple((used == 0).nonzero().flatten().tolist())

    @property
    def note(self) -> str | None:
        """What a person should know, if anything: that there are fewer clusters than were asked for."""
        there = len(self.clustering.centers)
        if there == self.asked:
            return None
        return f"{self.asked} clusters were asked of {len(self.labels)} unlabelled rows and {there} hold any"


def match(
    x_l: Float[Tensor, "l d"],
    y_l: Int[Tensor, " l"],
    x_u: Float[Tensor, "u d"],
    *,
    classes: int,
    clusters: int | None = None,
    reg: float = 0.25,
    order: float = 2,
    power: float = 1,
    weights: Weights = "free",
    class_prior: Tensor | tuple[float, ...] | None = None,
    solver: Pairs = "exact",
    scale: bool = False,
    generator: Generator | None = None,
) -> Matching:
    """Lines 3 to 11 of Algorithm 2 on rows that are given: softmax outputs or, with ``scale``, features.

    >>> x_l, y_l = torch.eye(3), torch.tensor([2, 0, 1])
    >>> x_u = torch.tensor([[0.8, 0.1, 0.1], [0.1, 0.2, 0.7], [0.2, 0.7, 0.1]])
    >>> matching = match(x_l, y_l, x_u, classes=3)
    >>> matching.labels, matching.collisions, matching.empty_classes
    (tensor([2, 1, 0]), (), ())
    """
    rows_to_label(x_u)
    counts = class_counts(x_l, y_l, classes)
    alpha = class_masses(class_prior, counts)  # l. 6
    if scale:
        x_l, x_u = one_hot_spread(x_l, x_u, alpha)
    asked = classes if clusters is None else clusters
    if asked < classes:
        raise InputError(f"{asked} clusters for {classes} classes leave some without a row: ask for {classes} or more")
    by_class = x_l[y_l.argsort(stable=True)].split(counts.tolist())  # l. 5: P_1 .. P_c
    means = torch.stack([rows.mean(0) for rows in by_class])
    clustering = _cluster(x_u, asked, means, _theta(weights, alpha, asked), generator)  # l. 4, Alg. 1
    by_cluster = x_u[clustering.assignment.argsort(stable=True)].split(clustering.sizes.tolist())  # Q_1 .. Q_k
    beta = clustering.sizes.double() / len(x_u)  # l. 6
    X = _all_pairs(by_cluster, by_class, order, solver)  # l. 7-9
    T = _couple(X.double().pow(power), beta, alpha, reg)  # l. 10
    return Matching(T, clustering, asked)  # l. 11: Matching.labels


@dataclass(frozen=True)
class ROT:
    """The labeler of Algorithm 2; ``soft`` gives each row its cluster's row of the plan (Soft-ROT).

    >>> outputs = Outputs(torch.eye(2), torch.tensor([0, 1]), torch.tensor([[0.9, 0.1], [0.2, 0.8]]), classes=2)
    >>> ROT()(outputs, Generator()).labels
    tensor([0, 1])
    """

    clusters: int | None = None  # None: one a class
    reg: float = 0.25  # lambda of Eq. (3), in units of the cost
    order: float = 2  # k of W_k
    power: float = 1  # of W_k in the outer cost: 1 as Alg. 2, `order` as Eq. (2)
    weights: Weights = "free"  # of the clusters: theta of Alg. 1
    class_prior: tuple[float, ...] | None = None  # None: the labelled shares
    solver: Pairs = "exact"
    soft: bool = False

    def __post_init__(self) -> None:
        if not self.reg > 0:
            raise InputError(f"reg is {self.reg} and the entropy of Eq. (3) needs a weight above 0: 0.1 to 1 is usual")
        if not self.order >= 1:
            raise InputError(f"order is {self.order} and W_k needs k >= 1: use 1 or 2")
        if not self.power > 0:
            raise InputError(f"power is {self.power} and must be above 0: 1 as in Alg. 2, or the order as in Eq. (2)")

    def __call__(self, outputs: Outputs, generator: Generator) -> PseudoLabels:
        """Label every row of ``outputs.unlabeled``."""
        matching = match(
            outputs.labeled,
            outputs.labels,
            outputs.unlabeled,
            classes=outputs.classes,
            clusters=self.clusters,
            reg=self.reg,
            order=self.order,
            power=self.power,
            weights=self.weights,
            class_prior=self.class_prior,
            solver=self.solver,
            scale=outputs.features,
            generator=generator,
        )
        return PseudoLabels(matching.labels, soft=matching.soft_labels if self.soft else None, matching=matching)


def one_hot_spread(
    x_l: Float[Tensor, "l d"], x_u: Float[Tensor, "u d"], alpha: Float[Tensor, " c"]
) -> tuple[Float[Tensor, "l d"], Float[Tensor, "u d"]]:
    """Features with the total variance of one-hot rows of those classes, 1 - sum alpha^2, which lambda is meant for."""
    n = len(x_l) + len(x_u)
    mean = (x_l.sum(0) + x_u.sum(0)) / n
    x_l, x_u = x_l - mean, x_u - mean
    variance = (x_l.square().sum() + x_u.square().sum()) / n
    factor = ((1 - alpha.square().sum()).to(variance) / variance).sqrt() if variance > 0 else 1.0
    return x_l * factor, x_u * factor


def _theta(weights: Weights, alpha: Float[Tensor, " c"], clusters: int) -> str | Float[Tensor, " c"]:
    """Where the weights of the clusters may lie: Theta of Alg. 1, l. 1."""
    if weights not in ("free", "uniform", "prior"):
        raise InputError(f"weights is {weights!r}: choose free, uniform or prior")
    if weights != "prior":
        return weights
    if clusters != len(alpha):
        raise InputError(
            f"weights='prior' gives the mass of each of {len(alpha)} classes to one cluster and there are {clusters}: "
            "leave clusters out, or use weights='uniform'"
        )
    return alpha


def _cluster(
    x_u: Float[Tensor, "u d"],
    k: int,
    means: Float[Tensor, "c d"],
    theta: str | Float[Tensor, " c"],
    generator: Generator | None,
) -> ot.Clustering:
    """Alg. 1 from the means of the labelled classes, further centres by k-means++; clusters without a row leave.

    An empty cluster in the coupling would take mass, and its label, from one that has rows.
    """
    if len(x_u) < k:  # a cluster a row is the finest there is
        means, theta, k = x_u, "free", len(x_u)
    theta = theta if isinstance(theta, str) else theta.to(x_u)
    found = ot.barycenter_clusters(x_u, k, weights=theta, init=means[:k], generator=generator)
    held, assignment = found.assignment.unique(return_inverse=True)
    return replace(found, centers=found.centers[held], weights=found.weights[held], assignment=assignment)


def _all_pairs(qs: tuple[Tensor, ...], ps: tuple[Tensor, ...], order: float, solver: Pairs) -> Float[Tensor, "k c"]:
    """X(i, j) = W_order(Q_i, P_j)."""
    return ot.wasserstein_matrix(qs, ps, order, solver=ot.Exact() if solver == "exact" else solver)


def _couple(cost: Float[Tensor, "k c"], beta: Float[Tensor, " k"], alpha: Float[Tensor, " c"], reg: float) -> ot.Plan:
    """The optimal T of Eq. (3)."""
    try:
        return ot.sinkhorn(cost, beta, alpha, reg=reg)
    except ot.NotConverged as error:
        raise RunError(f"matching clusters and classes: {error}") from None

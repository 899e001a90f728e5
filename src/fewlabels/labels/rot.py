"""Algorithm 2, lines 3 to 11: pseudo-labels by matching clusters of unlabelled rows with classes of labelled ones."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from fewlabels.labels.checks import check_rows, class_counts, class_masses, cluster_count, options
from fewlabels.labels.coupling import couple
from fewlabels.labels.matching import Matching
from fewlabels.labels.steps import Pairs, Weights, all_pairs, cluster, one_hot_spread, theta
from fewlabels.labels.types import Outputs, PseudoLabels


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
    solver: Pairs = "bound",
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
    options(clusters=clusters, reg=reg, order=order, power=power, weights=weights, solver=solver)
    check_rows(x_l, y_l, x_u)  # l. 3
    counts = class_counts(y_l, classes)
    alpha = class_masses(class_prior, counts)  # l. 6
    if scale:
        x_l, x_u = one_hot_spread(x_l, x_u, alpha)
    k = cluster_count(clusters, classes)
    by_class = x_l[y_l.argsort(stable=True)].split(counts.tolist())  # l. 5: P_1 .. P_c
    means = torch.stack([rows.mean(0) for rows in by_class])
    clustering = cluster(x_u, k, means, theta(weights, alpha, k), generator)  # l. 4, Alg. 1
    sizes = clustering.sizes.cpu()
    by_cluster = x_u[clustering.assignment.argsort(stable=True)].split(sizes.tolist())  # Q_1 .. Q_k
    beta = sizes.double() / len(x_u)  # l. 6
    X = all_pairs(by_cluster, by_class, order, solver)  # l. 7-9
    T = couple(X**power, beta, alpha, reg)  # l. 10
    return Matching(T, clustering, k)  # l. 11: Matching.labels


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
    solver: Pairs = "bound"  # "exact" for the transport cost itself (Fig. 1 a, b): the labels are the same
    soft: bool = False

    def __post_init__(self) -> None:
        options(
            clusters=self.clusters,
            reg=self.reg,
            order=self.order,
            power=self.power,
            weights=self.weights,
            solver=self.solver,
        )

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

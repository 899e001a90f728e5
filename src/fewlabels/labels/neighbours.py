"""Sec. 7.2, the greedy baselines: the label of the nearest labelled sample, or of the nearest labelled measure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from fewlabels.errors import InputError
from fewlabels.labels.checks import check_order, check_rows, class_counts
from fewlabels.labels.types import Outputs, PseudoLabels

_BLOCK = 1 << 21  # distances held at once: 8 MiB in float32, so a block stays near the cache


@dataclass(frozen=True)
class SampleToSample:
    """S-S-GNN: each row takes the label of the nearest labelled row; among equals, of the first.

    >>> outputs = Outputs(torch.eye(2), torch.tensor([0, 1]), torch.tensor([[0.9, 0.1], [0.2, 0.8]]), classes=2)
    >>> SampleToSample()(outputs, Generator()).labels
    tensor([0, 1])
    """

    def __call__(self, outputs: Outputs, generator: Generator) -> PseudoLabels:
        """Label every row of ``outputs.unlabeled``; the generator is not used."""
        x_l, x_u = outputs.labeled, outputs.unlabeled
        check_rows(x_l, outputs.labels, x_u)
        if not len(x_l):
            raise InputError("there are 0 labelled rows and at least 1 is needed: label one image of each class")
        # ||x - x_j||^2 = ||x||^2 + 2 (||x_j||^2 / 2 - x . x_j), and ||x||^2 is the same for every j. Centring first
        # keeps the products small, hence exact, when all rows lie far from the origin.
        centre = x_l.mean(0)
        x_l = x_l - centre
        half = x_l.square().sum(1) / 2
        nearest = [(half - (block - centre) @ x_l.T).argmin(1) for block in _blocks(x_u, len(x_l))]
        return PseudoLabels(outputs.labels[torch.cat(nearest)])


@dataclass(frozen=True)
class SampleToMeasure:
    """S-M-GNN: each row takes the label of the class measure nearest to it in W_k.

    >>> outputs = Outputs(torch.eye(2), torch.tensor([0, 1]), torch.tensor([[0.9, 0.1], [0.2, 0.8]]), classes=2)
    >>> SampleToMeasure()(outputs, Generator()).labels
    tensor([0, 1])
    """

    order: float = 2

    def __post_init__(self) -> None:
        check_order(self.order)

    def __call__(self, outputs: Outputs, generator: Generator) -> PseudoLabels:
        """Label every row of ``outputs.unlabeled``; the generator is not used."""
        distances = dirac_distances(
            outputs.labeled, outputs.labels, outputs.unlabeled, classes=outputs.classes, order=self.order
        )
        return PseudoLabels(distances.argmin(1))


def dirac_distances(
    x_l: Float[Tensor, "l d"], y_l: Int[Tensor, " l"], x_u: Float[Tensor, "u d"], *, classes: int, order: float = 2
) -> Float[Tensor, "u c"]:
    """W_k(δ_x, P_j) = (mean_{i in class j} ||x - x_i||^k)^{1/k}: a Dirac leaves one coupling, so no solver runs.

    For k = 2 the mean splits into ||x - mean_j||^2 + variance_j, and the labelled rows are read once.

    >>> x_l, y_l = torch.tensor([[0.0], [2.0], [4.0]]), torch.tensor([0, 0, 1])
    >>> dirac_distances(x_l, y_l, torch.tensor([[1.0]]), classes=2)
    tensor([[1., 3.]])
    """
    check_rows(x_l, y_l, x_u)
    counts = class_counts(y_l, classes)
    if order != 2:
        by_class = x_l[y_l.argsort(stable=True)].split(counts.tolist())
        return torch.stack([_power_means(x_u, cloud, order) for cloud in by_class], 1)
    member = torch.nn.functional.one_hot(y_l, classes).to(x_l) / counts  # l x c: column j averages over class j
    means = member.T @ x_l
    variances = member.T @ (x_l - means[y_l]).square().sum(1)
    squares = [torch.cdist(block, means, compute_mode=_EXACT).square() + variances for block in _blocks(x_u, classes)]
    return torch.cat(squares).sqrt()


def _power_means(rows: Float[Tensor, "u d"], cloud: Float[Tensor, "n d"], order: float) -> Float[Tensor, " u"]:
    """(mean_i ||x - x_i||^k)^{1/k}, by the largest of the distances, whose power is 1 whatever k is."""
    means = []
    for block in _blocks(rows, len(cloud)):
        distances = torch.cdist(block, cloud, compute_mode=_EXACT)
        most = distances.amax(1, keepdim=True).clamp_min(torch.finfo(rows.dtype).tiny)
        means.append((distances / most).pow(order).mean(1).pow(1 / order) * most[:, 0])
    return torch.cat(means)


_EXACT = "donot_use_mm_for_euclid_dist"  # the fast expansion loses half the digits of small distances


def _blocks(rows: Float[Tensor, "n d"], width: int) -> Iterator[Float[Tensor, "b d"]]:
    """The rows in blocks whose distances to ``width`` others fit in memory, whatever n is."""
    yield from rows.split(max(1, _BLOCK // width))

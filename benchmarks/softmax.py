"""Simulated network outputs: the calibrated posterior of Gaussian classes, right four times in five."""

from __future__ import annotations

import torch
from sklearn.cluster import KMeans
from torch import Tensor

# The distance of each class mean from 0 at which the argmax of the posterior is right in about 80 % of cases.
_MARGIN = {10: 2.43, 100: 3.43, 1000: 4.13}


def softmax_outputs(n: int, classes: int, seed: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """n outputs, as many of each class, and the true classes."""
    generator = torch.Generator().manual_seed(seed)
    truth = torch.arange(n) % classes
    margin = _MARGIN[classes]
    points = torch.randn(n, classes, generator=generator, dtype=dtype)
    points[torch.arange(n), truth] += margin
    return points.mul_(margin).softmax(1), truth


def families(
    n: int, classes: int, seed: int = 0, dtype: torch.dtype = torch.float64
) -> tuple[list[Tensor], list[Tensor]]:
    """Unlabelled outputs in clusters (k-means from the labelled class means) and labelled outputs by class."""
    labelled, truth = softmax_outputs(n, classes, seed, dtype)
    unlabelled, _ = softmax_outputs(n, classes, seed + 1, dtype)
    ps = [labelled[truth == j] for j in range(classes)]
    means = torch.stack([p.mean(0) for p in ps])
    found = KMeans(classes, init=means.numpy(), n_init=1, max_iter=30).fit(unlabelled.numpy()).labels_
    assigned = torch.from_numpy(found)
    return [unlabelled[assigned == i] for i in range(classes)], ps

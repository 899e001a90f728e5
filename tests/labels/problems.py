"""Generated problems whose right labels are known."""

from __future__ import annotations

import torch
from torch import Generator, Tensor


def blobs(
    classes: int = 4, labeled: int = 5, unlabeled: int = 30, dim: int = 4, spread: float = 0.05, seed: int = 0
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Labelled rows, their labels, unlabelled rows and theirs: clouds around the corners of a simplex, shuffled."""
    generator = Generator().manual_seed(seed)
    corners = torch.eye(dim, dtype=torch.float64)[:classes]

    def draw(each: int) -> tuple[Tensor, Tensor]:
        y = torch.arange(classes).repeat_interleave(each)
        y = y[torch.randperm(len(y), generator=generator)]
        noise = torch.randn(len(y), dim, generator=generator, dtype=torch.float64)
        return corners[y] + spread * noise, y

    return *draw(labeled), *draw(unlabeled)


def softmax_rows(
    n: int, classes: int = 10, accuracy: float = 0.8, sharpness: float = 6.0, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Rows like a half-trained network's: softmax of noisy logits, right about ``accuracy`` of the time."""
    generator = Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=generator)
    confused = torch.where(torch.rand(n, generator=generator) < accuracy, y, (y + 1 + y % 2) % classes)
    logits = torch.randn(n, classes, generator=generator)
    logits[torch.arange(n), confused] += sharpness * torch.rand(n, generator=generator)
    return (2 * logits).softmax(1), y

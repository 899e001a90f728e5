"""Two moons as images: the colour of an image is a point of the plane, its class the moon the point lies on."""

from __future__ import annotations

import torch
from sklearn.datasets import make_moons
from torch import nn

from fewlabels.data.images import Images, Source


def moons(seed: int, unlabeled: int = 400, judge: int = 400) -> Source:
    """4 x 4 images of two channels; the two coordinates are their means, and every pixel has noise of its own."""

    def draw(n: int, part: int) -> Images:
        points, labels = make_moons(n, noise=0.08, random_state=100 * seed + part)
        unit = (torch.from_numpy(points).float() - torch.tensor([-1.25, -0.75])) / torch.tensor([3.5, 2.0])
        generator = torch.Generator().manual_seed(100 * seed + part)
        noisy = unit[:, :, None, None] + 0.05 * torch.randn(n, 2, 4, 4, generator=generator)
        return Images((noisy.clamp(0, 1) * 255).to(torch.uint8), torch.from_numpy(labels))

    return Source(
        "moons", ("upper", "lower"), draw(unlabeled, 0), draw(judge, 1), draw(judge, 2), flip=False, noise=0.4
    )


def perceptron() -> nn.Module:
    """Two hidden layers are enough for two moons."""
    wide = [nn.Linear(64, 64), nn.BatchNorm1d(64), nn.LeakyReLU(0.1)]
    return nn.Sequential(
        nn.Flatten(), nn.Linear(32, 64), nn.BatchNorm1d(64), nn.LeakyReLU(0.1), *wide, nn.Linear(64, 2)
    )

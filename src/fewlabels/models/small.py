"""A small network for tiny images: two pairs of convolutions with a pooling between."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from fewlabels.models.wide_resnet import SLOPE, initialise


class Block(nn.Module):
    """A 3 x 3 convolution, batch normalisation and leaky ReLU."""

    def __init__(self, width_in: int, width_out: int, *, norm: bool) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width_in, width_out, 3, 1, 1, bias=not norm)
        self.norm = nn.BatchNorm2d(width_out) if norm else nn.Identity()

    def forward(self, x: Float[Tensor, "n a h w"]) -> Float[Tensor, "n b h w"]:
        """The block's output."""
        return F.leaky_relu(self.norm(self.conv(x)), SLOPE, inplace=True)


class SmallNet(nn.Module):
    """Convolutions to 32, 32, 64 and 64 channels with a 2 x 2 max pooling in the middle, a global mean, a dense layer.

    ``norm=False`` leaves batch normalisation out, for comparisons that must not depend on who shares a batch.

    >>> sum(p.numel() for p in SmallNet(classes=10, channels=1).parameters())
    65834
    """

    def __init__(self, classes: int = 10, channels: int = 1, *, norm: bool = True) -> None:
        super().__init__()
        self.blocks = nn.Sequential(
            Block(channels, 32, norm=norm),
            Block(32, 32, norm=norm),
            nn.MaxPool2d(2),
            Block(32, 64, norm=norm),
            Block(64, 64, norm=norm),
        )
        self.dense = nn.Linear(64, classes)
        self.apply(initialise)

    def features(self, images: Float[Tensor, "n ch h w"]) -> Float[Tensor, "n d"]:
        """What the last layer sees: the pooled activations."""
        return self.blocks(images).mean(dim=(2, 3))

    def forward(self, images: Float[Tensor, "n ch h w"]) -> Float[Tensor, "n c"]:
        """Logits."""
        return self.dense(self.features(images))

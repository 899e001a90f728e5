"""WRN-d-k as Oliver et al. (2018) built it: Sec. 7's "WRN-28-2", with batch normalisation and leaky ReLU."""

from __future__ import annotations

import math

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

SLOPE = 0.1


def _activation(norm: nn.BatchNorm2d, x: Tensor) -> Tensor:
    return F.leaky_relu(norm(x), SLOPE, inplace=True)


class Unit(nn.Module):
    """A pre-activation residual unit: two 3 x 3 convolutions beside a shortcut."""

    def __init__(self, width_in: int, width_out: int, stride: int, *, share_activation: bool) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(width_in)
        self.conv1 = nn.Conv2d(width_in, width_out, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width_out)
        self.conv2 = nn.Conv2d(width_out, width_out, 3, 1, 1, bias=False)
        changes = width_in != width_out or stride != 1
        self.shortcut = nn.Conv2d(width_in, width_out, 1, stride, bias=False) if changes else None
        self.share_activation = share_activation

    def forward(self, x: Float[Tensor, "n a h w"]) -> Float[Tensor, "n b h2 w2"]:
        """The unit's output."""
        active = _activation(self.norm1, x)
        if self.share_activation:
            x = active
        out = self.conv2(_activation(self.norm2, self.conv1(active)))
        return out + (x if self.shortcut is None else self.shortcut(x))


class WideResNet(nn.Module):
    """A wide residual network for small images.

    Three groups of (depth - 4) / 6 units, ``width`` times 16, 32 and 64 channels, strides 1, 2 and 2. Only the first
    unit shares its activation with the shortcut. No dropout.

    >>> sum(p.numel() for p in WideResNet(depth=28, width=2, classes=10).parameters())
    1467610
    """

    def __init__(self, depth: int = 28, width: int = 2, classes: int = 10, channels: int = 3) -> None:
        super().__init__()
        if (depth - 4) % 6 or depth < 10:
            raise ValueError(
                f"a wide residual network has depth 6 n + 4 with n >= 1, got {depth}: try 10, 16, 22 or 28"
            )
        if width < 1:
            raise ValueError(f"a wide residual network has a width of at least 1, got {width}: try 2")
        units = (depth - 4) // 6
        self.stem = nn.Conv2d(channels, 16, 3, 1, 1, bias=False)
        blocks, inner = [], 16
        for group, outer in enumerate((16 * width, 32 * width, 64 * width)):
            for i in range(units):
                stride = 2 if group > 0 and i == 0 else 1
                blocks.append(Unit(inner, outer, stride, share_activation=group == 0 and i == 0))
                inner = outer
        self.units = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(inner)
        self.dense = nn.Linear(inner, classes)
        self.apply(initialise)

    def features(self, images: Float[Tensor, "n ch h w"]) -> Float[Tensor, "n d"]:
        """What the last layer sees: the pooled activations."""
        return _activation(self.norm, self.units(self.stem(images))).mean(dim=(2, 3))

    def forward(self, images: Float[Tensor, "n ch h w"]) -> Float[Tensor, "n c"]:
        """Logits."""
        return self.dense(self.features(images))


def initialise(module: nn.Module) -> None:
    """Convolutions N(0, 2 / (k^2 c_out)), the dense layer Glorot normal with zero bias."""
    if isinstance(module, nn.Conv2d):
        fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
        nn.init.normal_(module.weight, 0.0, math.sqrt(2.0 / fan_out))
    elif isinstance(module, nn.Linear):
        nn.init.xavier_normal_(module.weight)
        nn.init.zeros_(module.bias)

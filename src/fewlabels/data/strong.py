"""What stronger augmentation does to a batch, given one parameter an image. ``augment`` draws the parameters.

Tones are changed on images in [0, 1]; geometry works on any values. Every function takes any channels and any size.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

Images = Float[Tensor, "n c h w"]
PerImage = Float[Tensor, " n"]


def colour(images: Images, *, brightness: PerImage, contrast: PerImage, saturation: PerImage, hue: PerImage) -> Images:
    """One affine map of colours an image, x -> A x + o, clamped to [0, 1].

    With J/3 the projection on grey, P = I - J/3 and K the rotation about grey, chroma turns and stretches by
    C = J/3 + s (cos(h) P + sin(h) K), h in radians. It keeps an image's mean grey m, so brightness b and contrast k
    give A = b k C and o = b (1 - k) m. Images without three channels have no hue and no saturation.
    """
    n, channels, height, width = images.shape
    grey = images.mean(dim=(1, 2, 3))
    matrix = (brightness * contrast)[:, None, None] * _chroma(saturation, hue, channels)
    offset = brightness * (1 - contrast) * grey
    flat = images.reshape(n, channels, height * width)
    return torch.baddbmm(offset[:, None, None], matrix, flat).clamp_(0, 1).view(images.shape)


def _chroma(saturation: PerImage, hue: PerImage, channels: int) -> Float[Tensor, "n c c"]:
    one = torch.eye(channels, device=hue.device)
    if channels != 3:
        return one.expand(len(hue), channels, channels)
    grey = torch.full_like(one, 1 / 3)
    turn = (one.roll(1, 0) - one.roll(-1, 0)) / math.sqrt(3)
    cos, sin = hue.cos()[:, None, None], hue.sin()[:, None, None]
    return grey + saturation[:, None, None] * (cos * (one - grey) + sin * turn)


def affine(
    images: Images,
    *,
    angle: PerImage | float = 0.0,
    scale: PerImage | float = 1.0,
    shear_x: PerImage | float = 0.0,
    shear_y: PerImage | float = 0.0,
    move_x: PerImage | float = 0.0,
    move_y: PerImage | float = 0.0,
) -> Images:
    """Take each pixel from scale R(angle) [[1, shear_x], [shear_y, 1]] position + move.

    Bilinear, reflected at the edges. Angles are radians; moves are shares of the width and the height.
    """
    n, _, height, width = images.shape
    like = images.new_zeros(n)
    angle, scale, shear_x, shear_y, move_x, move_y = (
        like + v for v in (angle, scale, shear_x, shear_y, move_x, move_y)
    )
    cos, sin = scale * angle.cos(), scale * angle.sin()
    aspect = height / width  # grid_sample's coordinates run from -1 to 1 on either axis
    across = torch.stack([cos - sin * shear_y, (cos * shear_x - sin) * aspect, 2 * move_x], dim=1)
    down = torch.stack([(sin + cos * shear_y) / aspect, sin * shear_x + cos, 2 * move_y], dim=1)
    grid = F.affine_grid(torch.stack([across, down], dim=1), list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, padding_mode="reflection", align_corners=False)


def cutout(images: Images, rows: Int[Tensor, " n"], columns: Int[Tensor, " n"], side: int) -> Images:
    """Zero a square of ``side`` pixels around a centre of each image; at the edges less of it is inside."""
    height, width = images.shape[2:]
    high = _near(height, rows, side)
    wide = _near(width, columns, side)
    return images.masked_fill((high[:, :, None] & wide[:, None, :])[:, None], 0.0)


def _near(size: int, centre: Int[Tensor, " n"], side: int) -> Tensor:
    start = (centre - side // 2)[:, None]
    at = torch.arange(size, device=centre.device)
    return (at >= start) & (at < start + side)


def randaugment(images: Images, which: Int[Tensor, "n k"], level: Float[Tensor, "n k"]) -> Images:
    """Apply k operations of ``OPERATIONS`` to each image in [0, 1], one after the other; ``level`` runs from -1 to 1.

    Images that share an operation are worked on together.
    """
    images = images.clone()
    for operation, strength in zip(which.T, level.T, strict=True):
        order = operation.argsort(stable=True)
        sizes = operation.bincount(minlength=len(OPERATIONS)).tolist()
        for rows, apply in zip(order.split(sizes), OPERATIONS.values(), strict=True):
            if len(rows):
                images[rows] = apply(images[rows], strength[rows])
    return images


def _identity(images: Images, level: PerImage) -> Images:
    return images


def _auto_contrast(images: Images, level: PerImage) -> Images:
    """Stretch each channel to [0, 1]; one that is flat to half a level holds rounding errors and stays."""
    low, high = images.amin((2, 3), keepdim=True), images.amax((2, 3), keepdim=True)
    return torch.where(high - low > 0.5 / 255, (images - low) / (high - low), images)


def _equalize(images: Images, level: PerImage) -> Images:
    """Give each channel a flat histogram over its 256 levels."""
    n, channels, height, width = images.shape
    levels = (images * 255).round().long().reshape(n, channels, height * width)
    counts = images.new_zeros(n, channels, 256).scatter_add_(2, levels, torch.ones_like(levels, dtype=images.dtype))
    below = counts.cumsum(2)
    lowest = below.gather(2, levels.amin(2, keepdim=True))
    spread = height * width - lowest
    table = torch.where(spread > 0, (below - lowest) / spread, torch.linspace(0, 1, 256, device=images.device))
    return table.clamp_(0, 1).gather(2, levels).view(images.shape)


def _posterize(images: Images, level: PerImage) -> Images:
    """Keep 8 to 4 bits."""
    step = 2.0 ** (level.abs() * 5).floor().clamp_(max=4)[:, None, None, None]
    return ((images * 255).round() / step).floor() * step / 255


def _solarize(images: Images, level: PerImage) -> Images:
    """Invert what is brighter than 1 - \\|level\\|."""
    return torch.where(images > 1 - level.abs()[:, None, None, None], 1 - images, images)


def _sharpness(images: Images, level: PerImage) -> Images:
    """Away from the mean of the neighbours, or towards it."""
    blurred = F.avg_pool2d(images, 3, stride=1, padding=1, count_include_pad=False)
    return torch.lerp(images, blurred, -0.9 * level[:, None, None, None]).clamp_(0, 1)


def _tone(name: str) -> Callable[[Images, PerImage], Images]:
    """Brightness, contrast or saturation by a factor from 0.1 to 1.9."""

    def apply(images: Images, level: PerImage) -> Images:
        one, zero = torch.ones_like(level), torch.zeros_like(level)
        factors = {"brightness": one, "contrast": one, "saturation": one, name: 1 + 0.9 * level}
        return colour(images, **factors, hue=zero)

    return apply


def _geometry(name: str, most: float) -> Callable[[Images, PerImage], Images]:
    def apply(images: Images, level: PerImage) -> Images:
        return affine(images, **{name: most * level})

    return apply


OPERATIONS: dict[str, Callable[[Images, PerImage], Images]] = {
    "identity": _identity,
    "auto-contrast": _auto_contrast,
    "equalize": _equalize,
    "brightness": _tone("brightness"),
    "contrast": _tone("contrast"),
    "colour": _tone("saturation"),
    "sharpness": _sharpness,
    "posterize": _posterize,
    "solarize": _solarize,
    "rotate": _geometry("angle", math.radians(30)),
    "shear-x": _geometry("shear_x", 0.3),
    "shear-y": _geometry("shear_y", 0.3),
    "translate-x": _geometry("move_x", 0.3),
    "translate-y": _geometry("move_y", 0.3),
}

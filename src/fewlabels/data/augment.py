"""Augmentation of batches: functions of (images, draws), with no Python per image.

A *view* turns uint8 pixels into what the network sees. Tones are changed on [0, 1], before the normalisation; geometry
and noise come after it, so that a whitening sees the images it was fitted to.

    plain         normalise
    standard      normalise, flip, translate by up to 2 pixels, Gaussian noise (Sec. 7, as Oliver et al.)
    weak          normalise, flip, translate by up to an eighth of the size
    strong        colour, normalise, flip, translate, affine map, cutout
    randaugment   two operations an image, normalise, flip, translate, cutout

Images are flipped only where a mirrored image keeps its class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int, UInt8
from torch import Generator, Tensor

from fewlabels.data import strong
from fewlabels.data.normalize import Normalizer
from fewlabels.errors import InputError

Pixels = UInt8[Tensor, "n c h w"]
Images = Float[Tensor, "n c h w"]


@dataclass(frozen=True)
class Draws:
    """Random numbers for rows ``start : start + count`` of a global batch of ``total`` images.

    Every call draws for the whole batch and keeps these rows: an image meets the same numbers however the batch is cut.

    >>> whole = Draws(Generator().manual_seed(0), total=4)
    >>> part = Draws(Generator().manual_seed(0), total=4, start=2, count=1)
    >>> bool((whole.uniform(3)[2:3] == part.uniform(3)).all())
    True
    """

    generator: Generator
    total: int
    start: int = 0
    count: int | None = None  # None: all from `start` on

    def uniform(self, *shape: int) -> Float[Tensor, "n *shape"]:
        """Uniform on [0, 1), ``shape`` an image."""
        drawn = torch.rand(self.total, *shape, generator=self.generator, device=self.generator.device)
        return self._mine(drawn)

    def normal(self, *shape: int) -> Float[Tensor, "n *shape"]:
        """Standard normal, ``shape`` an image."""
        drawn = torch.randn(self.total, *shape, generator=self.generator, device=self.generator.device)
        return self._mine(drawn)

    def integers(self, high: int, *shape: int) -> Int[Tensor, "n *shape"]:
        """Uniform on 0 .. high - 1, ``shape`` an image."""
        drawn = torch.randint(high, (self.total, *shape), generator=self.generator, device=self.generator.device)
        return self._mine(drawn)

    def between(self, low: float, high: float) -> Float[Tensor, " n"]:
        """Uniform on [low, high), one an image."""
        return low + (high - low) * self.uniform()

    def _mine(self, drawn: Tensor) -> Tensor:
        stop = self.total if self.count is None else self.start + self.count
        return drawn[self.start : stop]


@runtime_checkable
class View(Protocol):
    """Pixels in, normalised and augmented images out."""

    def __call__(self, pixels: Pixels, draws: Draws, /) -> Images:
        """A view of each image; ``draws`` are for as many."""


def make_view(name: str, normalizer: Normalizer, *, flip: bool, noise: float) -> View:
    """The view called ``name``. ``noise``, a standard deviation, belongs to the standard view alone.

    >>> from fewlabels.data.normalize import fit
    >>> pixels = torch.zeros(2, 1, 8, 8, dtype=torch.uint8)
    >>> view = make_view("standard", fit("symmetric", pixels), flip=False, noise=0.0)
    >>> view(pixels, Draws(Generator().manual_seed(0), total=2)).unique()
    tensor([-1.])
    """
    views: dict[str, View] = {
        "plain": partial(_plain, normalizer=normalizer),
        "standard": partial(_standard, normalizer=normalizer, flip=flip, noise=noise),
        "weak": partial(_weak, normalizer=normalizer, flip=flip),
        "strong": partial(_strong, normalizer=normalizer, flip=flip),
        "randaugment": partial(_randaugment, normalizer=normalizer, flip=flip),
    }
    if name not in views:
        raise InputError(f"no view is called {name!r}: choose one of {', '.join(views)}")
    return views[name]


def _plain(pixels: Pixels, draws: Draws, normalizer: Normalizer) -> Images:
    return normalizer(pixels)


def _standard(pixels: Pixels, draws: Draws, normalizer: Normalizer, flip: bool, noise: float) -> Images:
    images = shift(normalizer(pixels), draws, by=2, flip=flip)
    return images.add_(draws.normal(*images.shape[1:]), alpha=noise) if noise else images


def _weak(pixels: Pixels, draws: Draws, normalizer: Normalizer, flip: bool) -> Images:
    return _shift_by_an_eighth(normalizer(pixels), draws, flip)


def _strong(pixels: Pixels, draws: Draws, normalizer: Normalizer, flip: bool) -> Images:
    toned = strong.colour(
        _unit(pixels),
        brightness=draws.between(0.6, 1.4),
        contrast=draws.between(0.6, 1.4),
        saturation=draws.between(0.6, 1.4),
        hue=draws.between(-0.2 * math.pi, 0.2 * math.pi),
    )
    images = _shift_by_an_eighth(normalizer.unit(toned), draws, flip)
    images = strong.affine(
        images,
        angle=draws.between(-math.pi / 12, math.pi / 12),
        scale=draws.between(0.85, 1.15),
        shear_x=draws.between(-0.15, 0.15),
        shear_y=draws.between(-0.15, 0.15),
    )
    return _cutout(images, draws)


def _randaugment(pixels: Pixels, draws: Draws, normalizer: Normalizer, flip: bool) -> Images:
    which = draws.integers(len(strong.OPERATIONS), 2)
    images = strong.randaugment(_unit(pixels), which, 2 * draws.uniform(2) - 1)
    return _cutout(_shift_by_an_eighth(normalizer.unit(images), draws, flip), draws)


def shift(images: Images, draws: Draws, *, by: int, flip: bool) -> Images:
    """Mirror half of the images if ``flip``, then move each by up to ``by`` pixels an axis, reflected at the edges."""
    n, channels, height, width = images.shape
    rows, columns = _moved(height, by, draws), _moved(width, by, draws)
    if flip:
        columns = torch.where(draws.uniform()[:, None] < 0.5, width - 1 - columns, columns)
    source = (rows[:, :, None] * width + columns[:, None, :]).view(n, 1, height * width)
    flat = images.reshape(n, channels, height * width)
    return flat.gather(2, source.expand_as(flat)).view(images.shape)


def _moved(size: int, by: int, draws: Draws) -> Int[Tensor, "n size"]:
    """Where each pixel of an axis comes from: x + d, reflected into 0 .. size - 1 without repeating the edge."""
    by = min(by, size - 1)
    offset = draws.integers(2 * by + 1) - by
    position = (torch.arange(size, device=offset.device) + offset[:, None]).abs()
    return size - 1 - (size - 1 - position).abs()


def _shift_by_an_eighth(images: Images, draws: Draws, flip: bool) -> Images:
    return shift(images, draws, by=min(images.shape[2:]) // 8, flip=flip)


def _cutout(images: Images, draws: Draws) -> Images:
    """Half of the shorter side, anywhere."""
    height, width = images.shape[2:]
    return strong.cutout(images, draws.integers(height), draws.integers(width), min(height, width) // 2)


def _unit(pixels: Pixels) -> Images:
    return pixels.float().div_(255)

"""From pixels to what a network likes: fitted once on training images, then frozen, and stored beside the weights.

    symmetric     x / 127.5 - 1
    standardize   (x - mean) / deviation, a channel at a time
    gcn           per image: subtract the mean of all its values, scale to norm 55 sqrt(d / 3072)
    gcn-zca       gcn, then W (x - mean) with W = (covariance + 0.1 I)^(-1/2)

The norm is Oliver et al.'s 55 at 3 x 32 x 32 and keeps the same deviation a value (0.99) at other sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from fewlabels.errors import InputError

NORM, NORM_SIZE = 55.0, 3 * 32 * 32
RIDGE = 0.1
FLAT = 1e-8  # an image whose norm is below this has no contrast and stays at zero
BLOCK = 2048  # images looked at together while fitting
ZCA_LIMIT = 8192  # values an image: the matrix has its square of entries

State = dict[str, Tensor]


@dataclass(frozen=True)
class Normalizer:
    """A fitted normalisation; ``tensors`` are all it has learned.

    >>> fit("symmetric", torch.zeros(1, 1, 2, 2, dtype=torch.uint8))(torch.full((1, 1, 1, 2), 255, dtype=torch.uint8))
    tensor([[[[1., 1.]]]])
    """

    name: str
    tensors: State = field(default_factory=dict)

    def __call__(self, pixels: UInt8[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Pixels as a network sees them."""
        return self.unit(pixels.float().div_(255))

    def unit(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """The same for images already in [0, 1], which colour operations leave behind."""
        return _kind(self.name).apply(images, self.tensors)

    def state(self) -> State:
        """What to store beside the weights, with ``name``."""
        return dict(self.tensors)

    @classmethod
    def from_state(cls, name: str, tensors: State) -> Normalizer:
        """The normaliser that ``state`` came from."""
        _kind(name)
        return cls(name, dict(tensors))

    def to(self, device: torch.device | str) -> Normalizer:
        """The same on another device."""
        return Normalizer(self.name, {key: value.to(device) for key, value in self.tensors.items()})


def fit(name: str, pixels: UInt8[Tensor, "n c h w"]) -> Normalizer:
    """Fit the normalisation called ``name`` to training images, a block at a time; ``pixels`` may be a memory map."""
    if not len(pixels):
        raise InputError(f"the normalisation {name!r} needs at least one image to be fitted to, and there is none")
    return Normalizer(name, _kind(name).fit(pixels))


def contrast(images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    """Global contrast normalisation of each image by itself."""
    flat = images.flatten(1)
    centred = flat - flat.mean(1, keepdim=True)
    norm = centred.norm(dim=1, keepdim=True)
    target = NORM * math.sqrt(flat.shape[1] / NORM_SIZE)
    scale = torch.where(norm > FLAT, target / norm, 0.0)
    return (centred * scale).view(images.shape)


def _blocks(pixels: UInt8[Tensor, "n c h w"]) -> Iterator[UInt8[Tensor, "b c h w"]]:
    return (pixels[i : i + BLOCK] for i in range(0, len(pixels), BLOCK))


def _fit_nothing(pixels: UInt8[Tensor, "n c h w"]) -> State:
    return {}


def _fit_standardize(pixels: UInt8[Tensor, "n c h w"]) -> State:
    """Mean and deviation of each channel, exact: from the counts of the 256 levels."""
    counts = torch.zeros(pixels.shape[1], 256, dtype=torch.float64)
    for block in _blocks(pixels):
        for channel, row in enumerate(counts):
            row += block[:, channel].flatten().bincount(minlength=256)
    levels = torch.arange(256, dtype=torch.float64) / 255
    share = counts / counts.sum(1, keepdim=True)
    mean = share @ levels
    deviation = (share * (levels - mean[:, None]) ** 2).sum(1).sqrt()
    deviation[deviation == 0] = 1.0  # a constant channel stays at zero
    return {"mean": mean.float().view(-1, 1, 1), "deviation": deviation.float().view(-1, 1, 1)}


def _fit_zca(pixels: UInt8[Tensor, "n c h w"]) -> State:
    """Mean and whitening matrix: products of blocks in float32, their sum and its eigenvectors in float64."""
    size = pixels[0].numel()
    if size > ZCA_LIMIT:
        raise InputError(
            f"gcn-zca of images with {size} values needs a {size} x {size} matrix: use gcn, or smaller images"
        )
    total = torch.zeros(size, dtype=torch.float64)
    gram = torch.zeros(size, size, dtype=torch.float64)
    for block in _blocks(pixels):
        rows = contrast(block.float().div_(255)).flatten(1)
        total += rows.sum(0, dtype=torch.float64)
        gram += rows.T @ rows
    mean = total / len(pixels)
    covariance = (gram - len(pixels) * mean.outer(mean)) / max(len(pixels) - 1, 1)
    values, vectors = torch.linalg.eigh(covariance)
    whiten = (vectors * (values.clamp_min(0) + RIDGE).rsqrt()) @ vectors.T
    return {"mean": mean.float(), "whiten": whiten.float()}


def _symmetric(images: Float[Tensor, "n c h w"], _: State) -> Float[Tensor, "n c h w"]:
    return images * 2 - 1


def _standardize(images: Float[Tensor, "n c h w"], state: State) -> Float[Tensor, "n c h w"]:
    return (images - state["mean"]) / state["deviation"]


def _gcn(images: Float[Tensor, "n c h w"], _: State) -> Float[Tensor, "n c h w"]:
    return contrast(images)


def _gcn_zca(images: Float[Tensor, "n c h w"], state: State) -> Float[Tensor, "n c h w"]:
    return ((contrast(images).flatten(1) - state["mean"]) @ state["whiten"]).view(images.shape)


class _Kind(NamedTuple):
    fit: Callable[[Tensor], State]
    apply: Callable[[Tensor, State], Tensor]


NORMALIZERS = {
    "symmetric": _Kind(_fit_nothing, _symmetric),
    "standardize": _Kind(_fit_standardize, _standardize),
    "gcn": _Kind(_fit_nothing, _gcn),
    "gcn-zca": _Kind(_fit_zca, _gcn_zca),
}


def _kind(name: str) -> _Kind:
    if name not in NORMALIZERS:
        raise InputError(f"no normalisation is called {name!r}: choose one of {', '.join(NORMALIZERS)}")
    return NORMALIZERS[name]

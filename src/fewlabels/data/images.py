"""Images in memory, and the seal on the labels nobody may see.

A set of images is one uint8 tensor ``N C H W`` and one label a row, -1 where nobody knows. A *source* is what a
folder, a table or an archive turns into: a training set, and the parts it came with for judging.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Int, UInt8
from torch import Tensor

UNKNOWN = -1


@dataclass(frozen=True)
class Images:
    """A set of images; ``pixels`` may be a memory map."""

    pixels: UInt8[Tensor, "n c h w"]
    labels: Int[Tensor, " n"]  # UNKNOWN where there is none
    paths: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.pixels) != len(self.labels):
            raise ValueError(f"{len(self.pixels)} images with {len(self.labels)} labels: give one label an image")

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Source:
    """Everything a run needs to know about its data."""

    name: str
    classes: tuple[str, ...]
    train: Images
    validation: Images | None = None  # None: carved from `train`, `validation_size` of it
    test: Images | None = None
    validation_size: int | None = None  # None with no `validation`: a tenth of the labelled images
    default_labels: int | None = None  # None: every label there is
    flip: bool = True  # whether a mirrored image keeps its class
    normalize: str = "symmetric"  # a name of `data.normalize`
    noise: float = 0.0  # standard deviation of the standard view's Gaussian noise

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        channels, height, width = self.train.pixels.shape[1:]
        return channels, height, width


class Sealed:
    """The true labels of unlabelled images. Only metrics may open them; everything else works with UNKNOWN."""

    __slots__ = ("_labels",)

    def __init__(self, labels: Int[Tensor, " n"]) -> None:
        self._labels = labels

    def open_for_metrics(self) -> Int[Tensor, " n"]:
        """The labels, UNKNOWN where nobody knows. The name is long so that a reader sees each use."""
        return self._labels

    def __repr__(self) -> str:
        return f"Sealed({len(self._labels)} labels)"


def seal(labels: Int[Tensor, " n"], visible: Int[Tensor, " v"]) -> tuple[Int[Tensor, " n"], Sealed]:
    """Labels as training may see them, UNKNOWN outside ``visible``, and the truth under seal.

    >>> shown, truth = seal(torch.tensor([3, 1, 2]), visible=torch.tensor([1]))
    >>> shown.tolist(), truth
    ([-1, 1, -1], Sealed(3 labels))
    """
    shown = torch.full_like(labels, UNKNOWN)
    shown[visible] = labels[visible]
    return shown, Sealed(labels.clone())

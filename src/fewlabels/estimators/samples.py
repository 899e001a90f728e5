"""What the two kinds of X, feature rows and images, need for the training loop: tensors, views, a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Shaped, UInt8
from torch import Tensor, nn

from fewlabels.data.augment import Draws, View, make_view
from fewlabels.data.normalize import Normalizer
from fewlabels.data.normalize import fit as fit_normalizer
from fewlabels.data.sources.arrays import read_images
from fewlabels.data.sources.npz import of_array
from fewlabels.data.sources.pixels import read_pixels
from fewlabels.data.sources.request import data_home
from fewlabels.errors import InputError
from fewlabels.methods import Recipe
from fewlabels.models import build

WIDTH = 128  # of both hidden layers for rows
JITTER = 0.3  # standard deviation of the noise on standardised rows; docs/estimators.md
ROWS = Recipe(
    optimizer="adam",
    learning_rate=3e-3,
    labeled_view="jitter",
    unlabeled_views=("jitter",),
    epoch_steps=32,
    pool="all",
)
IMAGES = Recipe(epoch_steps=32, pool="all")


@runtime_checkable
class Reader(Protocol):
    """How one kind of X becomes what a network sees; fitted once, pickled with the estimator."""

    def read(self, X: Any) -> Shaped[Tensor, "n *shape"]:
        """The samples as they are kept."""

    def clean(self, samples: Shaped[Tensor, "b *shape"]) -> Float[Tensor, "b *shape"]:
        """Samples as the network sees them, not augmented."""

    def view(self, name: str) -> View:
        """An augmentation by its name."""

    def network(self, name: str, classes: int) -> nn.Module:
        """The network called ``name``."""

    def to(self, device: torch.device) -> Reader:
        """The same where the network is."""


@dataclass(frozen=True)
class Rows:
    """Feature rows, brought to mean 0 and deviation 1 column by column."""

    mean: Float[np.ndarray, " d"]
    deviation: Float[np.ndarray, " d"]  # 1 where a column is constant

    @classmethod
    def fit(cls, X: Float[np.ndarray, "n d"]) -> Rows:
        """The columns' means and deviations, taken of numbers whose squares stay in range."""
        largest = np.abs(X).max(0).astype(np.float64)
        unit = np.where(largest > 0, largest, 1.0)
        mean, deviation = unit * (X / unit).mean(0), unit * (X / unit).std(0)
        return cls(mean, np.where(deviation > 0, deviation, 1.0))

    def read(self, X: Float[np.ndarray, "n d"]) -> Float[Tensor, "n d"]:
        """Standardised in float64, kept in float32."""
        with np.errstate(over="ignore"):  # within_reach says it
            return within_reach(torch.from_numpy((X - self.mean) / self.deviation).float())

    def clean(self, samples: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
        """As they are."""
        return samples

    def view(self, name: str) -> View:
        """``plain``, or ``jitter``: Gaussian noise."""
        if name not in ("plain", "jitter"):
            raise InputError(f"no view of feature rows is called {name!r}: choose plain or jitter")
        return jitter if name == "jitter" else plain

    def network(self, name: str, classes: int) -> nn.Module:
        """Two hidden layers."""
        if name not in ("auto", "mlp"):
            raise InputError(f"no network for feature rows is called {name!r}: choose auto, mlp or give a module")
        return nn.Sequential(
            nn.Linear(len(self.mean), WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, classes)
        )

    def to(self, device: torch.device) -> Rows:
        """Itself: rows are standardised before they go anywhere."""
        return self


def within_reach(rows: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """The rows, measured as the fitted ones were; refused when one lies so far out that it is no number any more."""
    far = int((~torch.isfinite(rows)).any(1).sum())
    if far:
        raise InputError(
            f"{far} of {len(rows)} rows lie more than {torch.finfo(rows.dtype).max:.1g} times the spread of the fitted "
            "rows away from them: look at their units, or leave them out"
        )
    return rows


def plain(rows: Float[Tensor, "b d"], draws: Draws) -> Float[Tensor, "b d"]:
    """The rows themselves."""
    return rows


def jitter(rows: Float[Tensor, "b d"], draws: Draws) -> Float[Tensor, "b d"]:
    """Gaussian noise on standardised rows."""
    return rows + JITTER * draws.normal(rows.shape[1])


@dataclass(frozen=True)
class Pictures:
    """Images ``N H W``, ``N H W C`` or ``N C H W``, bytes or floats from 0 to 1."""

    shape: tuple[int, int, int]  # channels, height, width
    normalizer: Normalizer
    flip: bool

    @classmethod
    def fit(cls, X: Any, *, flip: bool) -> tuple[Pictures, UInt8[Tensor, "n c h w"]]:
        """The channels' means and deviations, and the images themselves, which need not be read again."""
        pixels = read_images(of_array("X", np.asarray(X)), data_home())
        channels, height, width = pixels.shape[1:]
        return cls((channels, height, width), fit_normalizer("standardize", pixels), flip), pixels

    def read(self, X: Any) -> UInt8[Tensor, "n c h w"]:
        """Bytes, channels first."""
        return read_pixels(np.asarray(X), shape=self.shape).pixels

    def clean(self, samples: UInt8[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
        """Normalised."""
        return self.normalizer(samples)

    def view(self, name: str) -> View:
        """A view of ``data.augment``."""
        return make_view(name, self.normalizer, flip=self.flip, noise=0.0)

    def network(self, name: str, classes: int) -> nn.Module:
        """``auto`` is the small network for images under 16 pixels, else WRN-28-2."""
        small = min(self.shape[1:]) < 16
        return build(("small" if small else "wrn-28-2") if name == "auto" else name, classes, self.shape[0])

    def to(self, device: torch.device) -> Pictures:
        """The same where the network is."""
        return Pictures(self.shape, self.normalizer.to(device), self.flip)

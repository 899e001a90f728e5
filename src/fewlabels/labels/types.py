"""What goes into a labeler and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

if TYPE_CHECKING:
    from fewlabels.labels.matching import Matching


@dataclass(frozen=True)
class Outputs:
    """X_l, y_l and X_u of Alg. 2, l. 3: the softmax of clean images in evaluation mode, or feature rows."""

    labeled: Float[Tensor, "l d"]
    labels: Int[Tensor, " l"]
    unlabeled: Float[Tensor, "u d"]
    classes: int
    features: bool = False  # rows are features on any scale, not probabilities


@dataclass(frozen=True)
class PseudoLabels:
    """One label a pool image. Soft-ROT also has a distribution a row; a labeler that abstains clears ``keep``."""

    labels: Int[Tensor, " u"]
    soft: Float[Tensor, "u c"] | None = None
    keep: Bool[Tensor, " u"] | None = None
    matching: Matching | None = None  # how ROT came to them; None for the other labelers

    @property
    def kept(self) -> Bool[Tensor, " u"]:
        """The rows that have a label."""
        return torch.ones_like(self.labels, dtype=torch.bool) if self.keep is None else self.keep


@runtime_checkable
class Labeler(Protocol):
    """Pseudo-labels for a pool of unlabelled outputs."""

    def __call__(self, outputs: Outputs, generator: Generator) -> PseudoLabels:
        """Label every row of ``outputs.unlabeled``."""

"""Who is labelled, who is not, who judges: index tensors only."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Int
from torch import Tensor


@dataclass(frozen=True)
class Split:
    """Disjoint, sorted indices into a source's training images."""

    labeled: Int[Tensor, " l"]
    unlabeled: Int[Tensor, " u"]
    validation: Int[Tensor, " v"]  # empty when the source brings its own, or has too few labels

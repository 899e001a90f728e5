"""The classifier as its own labeler: what ROT is compared with in Fig. 1 (c, d)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Generator

from fewlabels.errors import InputError
from fewlabels.labels.checks import check_rows
from fewlabels.labels.types import Outputs, PseudoLabels


@dataclass(frozen=True)
class Argmax:
    """The likeliest class of each row; below ``threshold`` it abstains.

    >>> import torch
    >>> outputs = Outputs(torch.eye(2), torch.tensor([0, 1]), torch.tensor([[0.9, 0.1], [0.4, 0.6]]), classes=2)
    >>> pseudo = Argmax(threshold=0.8)(outputs, Generator())
    >>> pseudo.labels, pseudo.kept
    (tensor([0, 1]), tensor([ True, False]))
    """

    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise InputError(
                f"threshold is {self.threshold} and probabilities lie in 0 .. 1: 0.95 is usual, None keeps all"
            )

    def __call__(self, outputs: Outputs, generator: Generator) -> PseudoLabels:
        """Label every row of ``outputs.unlabeled``; the generator is not used."""
        check_rows(outputs.labeled, outputs.labels, outputs.unlabeled)
        if outputs.features:
            raise InputError("the rows are features and labelling oneself needs probabilities: give softmax outputs")
        if outputs.unlabeled.shape[1] != outputs.classes:
            raise InputError(
                f"outputs have {outputs.unlabeled.shape[1]} columns and there are {outputs.classes} classes: "
                "labelling oneself needs one probability a class"
            )
        likeliest = outputs.unlabeled.max(1)
        return PseudoLabels(
            likeliest.indices, keep=None if self.threshold is None else likeliest.values >= self.threshold
        )

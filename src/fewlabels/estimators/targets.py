"""Labels of any kind, some of them missing, as class numbers."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, no_type_check

import numpy as np
import torch
from jaxtyping import Int
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from torch import Tensor

from fewlabels.data.images import UNKNOWN
from fewlabels.errors import InputError
from fewlabels.labels.checks import read_masses

Constructor = TypeVar("Constructor", bound=Callable[..., None])


def takes_anything(constructor: Constructor) -> Constructor:
    """A constructor in scikit-learn's shape: annotations say what is meant, and ``fit`` looks at what came."""
    return no_type_check(constructor)


@dataclass(frozen=True)
class Targets:
    """The classes, sorted, and for each row the number of its class or UNKNOWN."""

    classes: np.ndarray
    codes: Int[Tensor, " n"]

    @property
    def labeled(self) -> Int[Tensor, " l"]:
        """Which rows have a label."""
        return (self.codes != UNKNOWN).nonzero()[:, 0]

    @property
    def unlabeled(self) -> Int[Tensor, " u"]:
        """Which rows have none."""
        return (self.codes == UNKNOWN).nonzero()[:, 0]


def read_targets(y: np.ndarray, unlabeled: Any) -> Targets:
    """Number the classes of ``y``; rows that hold ``unlabeled`` are without a label.

    >>> targets = read_targets(np.array(["dog", "", "cat"]), unlabeled="")
    >>> targets.classes.tolist(), targets.codes.tolist()
    (['cat', 'dog'], [1, -1, 0])
    """
    missing = without_label(y, unlabeled)
    if missing.all():
        raise InputError(
            f"0 of {len(y)} rows are labelled (unlabeled={unlabeled!r}) and each class needs at least 1: "
            "give the label of one row of each class"
        )
    known = of_one_kind(y[~missing])
    check_classification_targets(known)
    classes, numbered = np.unique(known, return_inverse=True)
    codes = torch.full((len(y),), UNKNOWN)
    codes[torch.from_numpy(~missing)] = torch.from_numpy(numbered.astype(np.int64))
    return Targets(classes, codes)


def without_label(y: np.ndarray, unlabeled: Any) -> np.ndarray:
    """Which rows hold ``unlabeled``. Among strings its text counts: NumPy makes ``["cat", -1]`` two strings."""
    if y.dtype.kind in "US":
        return np.asarray(y == str(unlabeled))
    if y.dtype.kind == "O":
        return np.array([value is unlabeled or value == unlabeled for value in y], dtype=bool)
    if isinstance(unlabeled, numbers.Number):
        return np.asarray(y == unlabeled)
    return np.zeros(len(y), dtype=bool)  # a mark that is no number is not among numbers


def of_one_kind(known: np.ndarray) -> np.ndarray:
    """Labels alone as numbers or text, where they are objects only because the mark among them was of another kind.

    >>> of_one_kind(np.array([3, 7], dtype=object)).dtype.kind
    'i'
    """
    if known.dtype.kind != "O":
        return known
    plain, words = np.array(known.tolist()), sum(isinstance(label, str) for label in known)
    if plain.dtype.kind == "O" or 0 < words < len(known):
        kinds = ", ".join(sorted({type(label).__name__ for label in known}))
        raise InputError(
            f"the labels are of {kinds}: give numbers alone or text alone, and as unlabeled the mark of what has none"
        )
    return plain


def masses_of(class_prior: Any) -> tuple[float, ...] | None:
    """A class prior as the labelers take it: one mass a class, in the order of ``classes_``."""
    return None if class_prior is None else tuple(read_masses(class_prior).flatten().tolist())


class ScoresLabeled(ClassifierMixin):
    """Scores by the labelled rows alone, so that cross-validation and grid search work on partly labelled data."""

    unlabeled: Any

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy over the rows of ``y`` that have a label."""
        labels = np.asarray(y)
        known = np.flatnonzero(~without_label(labels, self.unlabeled))
        if not len(known):
            raise InputError(f"0 of {len(labels)} rows are labelled and a score needs at least 1: give their labels")
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        accuracy: float = super().score(_take(X, known), of_one_kind(labels[known]), sample_weight=weights)
        return accuracy


def _take(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]  # a table keeps its column names

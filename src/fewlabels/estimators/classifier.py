"""``ROTClassifier``: Algorithm 2 whole, in scikit-learn's shape."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
import torch
from jaxtyping import Shaped
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data
from torch import Tensor, nn

from fewlabels.errors import InputError
from fewlabels.estimators.recipe import read_recipe
from fewlabels.estimators.samples import IMAGES, ROWS, Pictures, Rows
from fewlabels.estimators.targets import ScoresLabeled, Targets, masses_of, read_targets, takes_anything
from fewlabels.estimators.training import train
from fewlabels.labels import ROT
from fewlabels.methods import Method, Recipe

_BATCH = 1024


class ROTClassifier(ScoresLabeled, BaseEstimator):
    """A network trained on a few labels and many unlabelled samples by matching distributions (Alg. 2).

    ``X`` holds feature rows, or images ``N H W``, ``N H W C`` or ``N C H W`` as bytes or floats from 0 to 1. ``y`` is
    ``unlabeled`` (-1) where no label is known; with every row labelled the network is trained on labels alone.
    ``transduction_`` are the given labels and, where there were none, the network's own.

    >>> X = np.array([[0.0], [0.2], [0.1], [5.0], [5.2], [5.1]])
    >>> classifier = ROTClassifier(max_iter=3, unlabeled="", random_state=0).fit(X, ["low", "", "", "high", "", ""])
    >>> classifier.transduction_.tolist(), classifier.predict([[4.0]]).tolist()
    (['low', 'low', 'low', 'high', 'high', 'high'], ['high'])
    """

    @takes_anything
    def __init__(
        self,
        *,
        model: str | nn.Module = "auto",
        max_iter: int = 30,
        alpha: float = 1.0,
        reg: float = 0.25,
        clusters: int | None = None,
        weights: str = "free",
        soft: bool = False,
        class_prior: Any = None,
        recipe: Recipe | str | None = None,
        flip: bool = False,
        unlabeled: Any = -1,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.max_iter = max_iter
        self.alpha = alpha
        self.reg = reg
        self.clusters = clusters
        self.weights = weights
        self.soft = soft
        self.class_prior = class_prior
        self.recipe = recipe
        self.flip = flip
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> ROTClassifier:
        """Train on the labelled rows of ``X``, and on the others with the labels that matching gives them."""
        if _axes(X) > 2:
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            self.reader_: Pictures | Rows
            self.reader_, samples = Pictures.fit(X, flip=self.flip)
            self.n_features_in_ = int(np.prod(self.reader_.shape))
        else:
            X, y = validate_data(self, X, y, dtype=(np.float64, np.float32))
            self.reader_ = Rows.fit(X)
            samples = self.reader_.read(X)
        targets = read_targets(y, self.unlabeled)
        network, self.history_ = train(
            samples,
            targets,
            self.reader_,
            self.model,
            self._method(targets, IMAGES if isinstance(self.reader_, Pictures) else ROWS),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            device=self.device,
            tell=self._tell,
        )
        # Rows are judged in float64, so that a row's probabilities do not depend on who shares its batch.
        self.network_ = network.double() if isinstance(self.reader_, Rows) else network
        notes = [metrics["note"] for metrics in self.history_ if "note" in metrics]
        if self.clusters is not None and notes:
            warnings.warn(notes[0], stacklevel=2)
        self.classes_ = targets.classes
        self.n_iter_ = len(self.history_)
        codes, rest = targets.codes.numpy().copy(), targets.unlabeled
        codes[rest.numpy()] = self._probabilities(samples[rest]).argmax(1)
        self.transduction_ = self.classes_[codes]
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The network's probability of each of ``classes_``."""
        check_is_fitted(self)
        return self._probabilities(self._samples(X))

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each sample."""
        probabilities = self.predict_proba(X)  # first, for what it says when nothing is fitted
        return self.classes_[probabilities.argmax(1)]

    def _samples(self, X: Any) -> Tensor:
        if isinstance(self.reader_, Pictures):
            return self.reader_.read(X)
        return self.reader_.read(validate_data(self, X, dtype=(np.float64, np.float32), reset=False))

    @torch.no_grad()
    def _probabilities(self, samples: Shaped[Tensor, "n *shape"]) -> np.ndarray:
        dtype = next(self.network_.parameters()).dtype
        rows = [self.network_(self.reader_.clean(part).to(dtype)).double().softmax(1) for part in samples.split(_BATCH)]
        return np.concatenate([part.numpy() for part in rows]) if rows else np.empty((0, len(self.classes_)))

    def _method(self, targets: Targets, own: Recipe) -> Method:
        """Algorithm 2 on this recipe, or labels alone where there is nothing else."""
        if not (isinstance(self.max_iter, numbers.Integral) and self.max_iter >= 1):
            raise InputError(f"max_iter is {self.max_iter!r} and at least 1 epoch is needed: 30 is usual")
        if not (isinstance(self.alpha, numbers.Real) and 0 <= self.alpha < np.inf):
            raise InputError(f"alpha is {self.alpha!r} and Eq. (5) needs a weight of 0 or more: 1 is usual")
        labeler = ROT(
            clusters=self.clusters,
            reg=self.reg,
            weights=self.weights,
            class_prior=masses_of(self.class_prior),
            soft=self.soft,
        )
        recipe = read_recipe(self.recipe, own, max_iter=int(self.max_iter), alpha=float(self.alpha))
        return Method(labeler if len(targets.unlabeled) else None, recipe=recipe)

    def _tell(self, metrics: dict[str, Any]) -> None:
        """A line an epoch, when ``verbose``."""
        if self.verbose:
            cost = f"  transport cost {metrics['transport_cost']:.4f}" if "transport_cost" in metrics else ""
            print(f"epoch {metrics['epoch']:3d} of {self.max_iter}  loss {metrics['loss']:.4f}{cost}")


def _axes(X: Any) -> int:
    """How many axes X has: 2 are a table, more are images."""
    return int(X.ndim) if hasattr(X, "ndim") else np.asarray(X).ndim

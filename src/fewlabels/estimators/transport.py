"""``TransportLabeler``: lines 4 to 11 of Algorithm 2 on feature rows as they are, without a network."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Generator, Tensor

from fewlabels.errors import InputError
from fewlabels.estimators.metric import within_classes
from fewlabels.estimators.samples import within_reach
from fewlabels.estimators.targets import ScoresLabeled, Targets, masses_of, read_targets, takes_anything
from fewlabels.labels import Matching, Outputs, SampleToSample, match
from fewlabels.labels.steps import Pairs, Weights
from fewlabels.train.device import pick_device

CLUSTERS_A_CLASS = 3  # docs/estimators.md


class TransportLabeler(ScoresLabeled, BaseEstimator):
    """Labels a pool of feature rows from a few labelled ones: clusters of the pool are matched with the classes.

    The rows are brought to the spread of one-hot rows, the pool is clustered (Alg. 1), the clusters are coupled with
    the classes by entropic transport over the distances between clouds (Eq. 3), and each row takes the class its
    cluster sends most mass to. With these labels the rows are measured anew, so that classes have the same spread in
    every direction, and matched again, ``rounds`` times in all; ``rounds=1`` takes the columns as they come. A new row
    takes the class of the nearest cluster centre.

    ``y`` holds ``unlabeled`` (-1) where the label is not known. With every row labelled the labelled rows are the pool.

    >>> X = np.array([[0.0], [0.2], [0.1], [5.0], [5.2], [5.1]])
    >>> labeler = TransportLabeler(clusters=2).fit(X, [0, -1, -1, 1, -1, -1])
    >>> labeler.transduction_.tolist(), labeler.predict([[4.0]]).tolist()
    ([0, 0, 0, 1, 1, 1], [1])
    """

    @takes_anything
    def __init__(
        self,
        *,
        clusters: int | None = None,
        rounds: int = 3,
        reg: float = 0.25,
        weights: Weights = "free",
        class_prior: Any = None,
        solver: Pairs = "bound",
        unlabeled: Any = -1,
        random_state: Any = None,
        device: str = "cpu",
    ) -> None:
        self.clusters = clusters
        self.rounds = rounds
        self.reg = reg
        self.weights = weights
        self.class_prior = class_prior
        self.solver = solver
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.device = device

    def fit(self, X: Any, y: Any) -> TransportLabeler:
        """Label the rows of ``X`` whose ``y`` is ``unlabeled``."""
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32))
        _check_rounds(self.rounds)
        targets = read_targets(y, self.unlabeled)
        self.scale_ = float(np.abs(X).max()) or 1.0  # over it, squares of the rows stay in range
        pool = targets.unlabeled if len(targets.unlabeled) else targets.labeled
        rows = self._rows(X)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.metric_, self.matching_ = self._matched(rows, targets, pool, seed)
        if self.clusters is not None and self.matching_.note is not None:
            warnings.warn(self.matching_.note, stacklevel=2)
        self.classes_ = targets.classes
        self.n_iter_ = self.matching_.clustering.iterations
        self.cluster_centers_ = self.scale_ * _centers(rows[pool], self.matching_).cpu().numpy()
        plan = self.matching_.plan.matrix.double().cpu()
        self.cluster_distributions_ = (plan / plan.sum(1, keepdim=True)).numpy()
        self.label_distributions_ = self._distributions(targets, pool)
        self.transduction_ = self.classes_[self.label_distributions_.argmax(1)]
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The distribution over ``classes_`` of the cluster whose centre is nearest to each row."""
        check_is_fitted(self)
        rows = self._rows(validate_data(self, X, dtype=(np.float64, np.float32), reset=False))
        centers = torch.from_numpy(self.cluster_centers_ / self.scale_).to(rows)
        numbered = torch.arange(len(centers), device=rows.device)
        origin, metric = centers.mean(0), torch.from_numpy(self.metric_).to(rows)
        seen = within_reach((rows - origin) @ metric)
        nearest = SampleToSample()(Outputs((centers - origin) @ metric, numbered, seen, len(centers)), Generator())
        return self.cluster_distributions_[nearest.labels.cpu().numpy()]

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row."""
        probabilities = self.predict_proba(X)  # first, for what it says when nothing is fitted
        return self.classes_[probabilities.argmax(1)]

    def _rows(self, X: np.ndarray) -> Float[Tensor, "n d"]:
        """In units of the largest entry that was fitted."""
        return torch.from_numpy(np.require(X, requirements=["C", "W"])).to(pick_device(self.device)) / self.scale_

    def _matched(
        self, rows: Float[Tensor, "n d"], targets: Targets, pool: Tensor, seed: int
    ) -> tuple[np.ndarray, Matching]:
        """The metric of the last round, and what it found."""
        metric = torch.eye(rows.shape[1], dtype=rows.dtype, device=rows.device)
        matching = self._match(rows, targets, pool, seed)
        origin, labels = rows.mean(0), None
        for _ in range(1, self.rounds):
            before, labels = labels, targets.codes.clone().to(rows.device)
            unknown = labels[pool] < 0
            labels[pool[unknown]] = matching.labels[unknown]
            if before is not None and torch.equal(before, labels):
                break
            metric = within_classes(rows, labels, len(targets.classes))
            matching = self._match((rows - origin) @ metric, targets, pool, seed)
        return metric.cpu().numpy(), matching

    def _match(self, rows: Float[Tensor, "n d"], targets: Targets, pool: Tensor, seed: int) -> Matching:
        classes = len(targets.classes)
        usual = max(classes, min(CLUSTERS_A_CLASS * classes, len(pool)))
        return match(
            rows[targets.labeled],
            targets.codes[targets.labeled].to(rows.device),
            rows[pool],
            classes=classes,
            clusters=usual if self.clusters is None else self.clusters,
            reg=self.reg,
            weights=self.weights,
            class_prior=masses_of(self.class_prior),
            solver=self.solver,
            scale=True,
            generator=Generator().manual_seed(seed),
        )

    def _distributions(self, targets: Targets, pool: Tensor) -> np.ndarray:
        """One distribution a row of ``fit``'s X: what is known stays as it is."""
        known = targets.labeled.numpy()
        found = np.zeros((len(targets.codes), len(targets.classes)))
        found[pool.numpy()] = self.cluster_distributions_[self.matching_.clustering.assignment.cpu().numpy()]
        found[known] = np.eye(len(targets.classes))[targets.codes[known].numpy()]
        return found


def _check_rounds(rounds: Any) -> None:
    if not (isinstance(rounds, numbers.Integral) and int(rounds) >= 1):
        raise InputError(f"rounds is {rounds!r} and at least 1 is needed: 3 is usual, 1 measures nothing anew")


def _centers(rows: Float[Tensor, "u d"], matching: Matching) -> Float[Tensor, "k d"]:
    """The means of the clusters in the units of the rows: the matching worked on scaled ones."""
    sizes = matching.clustering.sizes
    sums = rows.new_zeros(len(sizes), rows.shape[1]).index_add_(0, matching.clustering.assignment, rows)
    return sums / sizes[:, None]

"""Tables and pictures of which a few are labelled, with the truth."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits, make_blobs


def hide(y: np.ndarray, per_class: int, seed: int = 0, unlabeled: object = -1) -> np.ndarray:
    """The labels with all but the first few of each class hidden, in an order of the seed's."""
    order = np.random.default_rng(seed).permutation(len(y))
    shown = np.concatenate([order[y[order] == name][:per_class] for name in np.unique(y)])
    partial = np.full(len(y), unlabeled, dtype=y.dtype if isinstance(unlabeled, int) else object)
    partial[shown] = y[shown]
    return partial


def table(per_class: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three separate clouds in five dimensions, off the origin and wide: X, partial labels, truth."""
    X, y = make_blobs(150, n_features=5, centers=3, cluster_std=1.0, center_box=(-20, 20), random_state=seed)
    return 40 * X + 300, hide(y, per_class, seed), y


def pictures(classes: int = 3, per_class: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Handwritten digits as floats from 0 to 1, N H W."""
    images, y = load_digits(n_class=classes, return_X_y=True)
    return (images / 16).reshape(-1, 8, 8), hide(y, per_class), y

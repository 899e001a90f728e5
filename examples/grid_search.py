"""scikit-learn's grid search over both estimators; y == -1 marks unlabelled rows, and only labelled ones are judged.

python examples/grid_search.py [EPOCHS]
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, PredefinedSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import ROTClassifier, TransportLabeler

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 10

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=300, stratify=y, random_state=0)
shown = np.zeros(len(y), dtype=bool)
for digit in range(10):
    shown[np.flatnonzero(y == digit)[:12]] = True
partial = np.where(shown, y, -1)

# A third of the labelled rows judges each time; unlabelled ones, fold -1, always stay in the training part.
folds = np.full(len(y), -1)
for digit in range(10):
    folds[np.flatnonzero(partial == digit)] = np.arange(12) % 3
by_fold = PredefinedSplit(folds)

labeler = make_pipeline(StandardScaler(), TransportLabeler(random_state=0))
grid = {"transportlabeler__clusters": [10, 30], "transportlabeler__reg": [0.1, 0.25]}
search = GridSearchCV(labeler, grid, cv=by_fold).fit(X, partial)
print(f"TransportLabeler: {search.best_params_}, accuracy on new rows {search.score(X_new, y_new):.1%}")

network = make_pipeline(StandardScaler(), ROTClassifier(max_iter=epochs, random_state=0))
search = GridSearchCV(network, {"rotclassifier__soft": [False, True]}, cv=by_fold).fit(X, partial)
print(f"ROTClassifier: {search.best_params_}, accuracy on new rows {search.score(X_new, y_new):.1%}")

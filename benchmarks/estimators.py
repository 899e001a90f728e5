"""The estimators against scikit-learn's on small tables, and the labeler on many wide rows.

    python benchmarks/estimators.py [--only accuracy|speed] [--seeds 5]

Accuracy: five draws of which rows are labelled and which are held out, the same for all; all see standardised columns,
and all are as their authors' defaults make them. Speed: 100,000 rows of 512 features, 1,000 labels, 100 classes.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from records import append
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier

from fewlabels import ROTClassifier, TransportLabeler

TABLES: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
}
SEMI: dict[str, Callable[[int], BaseEstimator]] = {
    "ROTClassifier": lambda seed: ROTClassifier(random_state=seed),
    "TransportLabeler": lambda seed: TransportLabeler(random_state=seed),
    "TransportLabeler rounds=1": lambda seed: TransportLabeler(rounds=1, random_state=seed),  # Alg. 2 and no more
    "LabelPropagation": lambda seed: LabelPropagation(max_iter=10_000),
    "LabelPropagation knn": lambda seed: LabelPropagation(kernel="knn", max_iter=10_000),
    "LabelSpreading": lambda seed: LabelSpreading(max_iter=10_000),
    "LabelSpreading knn": lambda seed: LabelSpreading(kernel="knn", max_iter=10_000),
    "SelfTraining": lambda seed: SelfTrainingClassifier(LogisticRegression(max_iter=10_000)),
}
SUPERVISED = "LogisticRegression"  # on the labelled rows alone


def draw(X: np.ndarray, y: np.ndarray, per_class: int, seed: int) -> tuple[np.ndarray, ...]:
    """Three tenths of the rows to judge by; of the others, a few of each class keep their label."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    shown = np.concatenate([order[y[order] == name][:per_class] for name in np.unique(y)])
    partial = np.full(len(y), -1)
    partial[shown] = y[shown]
    return X, partial, y, X_test, y_test


def judge(name: str, estimator: BaseEstimator, parts: tuple[np.ndarray, ...]) -> dict[str, float]:
    """Accuracy on the rows whose labels were hidden, on those held out, and the seconds of fitting."""
    X, partial, y, X_test, y_test = parts
    known, hidden = partial >= 0, partial < 0
    rows = known if name == SUPERVISED else slice(None)
    model = estimator if X.ndim > 2 else make_pipeline(StandardScaler().fit(X), estimator)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a graph with lonely rows divides by nothing
        model.fit(X[rows], partial[rows])
        seconds = time.perf_counter() - began
        guess, guess_test = model.predict(X[hidden]), model.predict(X_test)
    return {
        "hidden": float((guess == y[hidden]).mean()),
        "held_out": float((guess_test == y_test).mean()),
        "seconds": seconds,
    }


def compare(data: str, X: np.ndarray, y: np.ndarray, per_class: int, seeds: int) -> None:
    """Print and store mean and deviation of each."""
    ways = {**SEMI, SUPERVISED: lambda seed: LogisticRegression(max_iter=10_000)}
    for name, make in ways.items():
        parts = [draw(X if name == "ROTClassifier" else X.reshape(len(X), -1), y, per_class, s) for s in range(seeds)]
        found = [judge(name, make(seed), part) for seed, part in enumerate(parts)]
        fields = {key: [one[key] for one in found] for key in found[0]}
        append("estimators.jsonl", "accuracy", {"data": data, "labels_a_class": per_class, "estimator": name, **fields})
        held, hidden = (statistics.mean(fields[key]) for key in ("held_out", "hidden"))
        spread = statistics.stdev(fields["held_out"]) if seeds > 1 else 0.0
        print(
            f"{data:14} {per_class:3} a class  {name:25} held out {held:6.1%} +- {spread:5.1%}  "
            f"hidden {hidden:6.1%}  {statistics.median(fields['seconds']):6.2f} s",
            flush=True,
        )


def accuracy(seeds: int) -> None:
    """Small tables with 5 and 10 labels a class; handwritten digits as images with 10."""
    for data, load in TABLES.items():
        X, y = load(return_X_y=True)
        for per_class in (5, 10):
            compare(data, X, y, per_class, seeds)
    X, y = load_digits(return_X_y=True)
    compare("digits images", (X / 16).reshape(-1, 8, 8), y, 10, seeds)


def speed(rows: int = 100_000, columns: int = 512, classes: int = 100, labels: int = 1_000) -> None:
    """Seconds and memory of ``TransportLabeler`` on clouds that touch."""
    rng = np.random.default_rng(0)
    truth = np.arange(rows) % classes
    means = rng.normal(size=(classes, columns)).astype(np.float32)
    X = means[truth]
    X += 4 * rng.standard_normal(X.shape, dtype=np.float32)
    y = np.where(np.arange(rows) < labels, truth, -1)
    before = peak()
    began = time.perf_counter()
    labeler = TransportLabeler(random_state=0).fit(X, y)
    fields = {
        "rows": rows,
        "columns": columns,
        "classes": classes,
        "labels": labels,
        "dtype": str(X.dtype),
        "seconds": time.perf_counter() - began,
        "input_gb": X.nbytes / 2**30,
        "gb_beyond_the_input": peak() - before,
        "accuracy": float((labeler.transduction_ == truth)[labels:].mean()),
        "iterations": labeler.n_iter_,
    }
    append("estimators.jsonl", "speed of TransportLabeler", fields)
    print(fields)


def peak() -> float:
    """GB this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=("accuracy", "speed"))
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.only != "accuracy":  # first, while nothing else has raised the peak of memory
        speed()
    if arguments.only != "speed":
        accuracy(arguments.seeds)

"""Image classifiers from a few labels and many unlabelled images.

    run = fewlabels.fit("photos/", method="rot", minutes=30)
    run.predict("new_photos/")

``fit``, ``resume`` and ``load`` train networks; ``ROTClassifier`` and ``TransportLabeler`` have scikit-learn's shape;
``fewlabels.ot`` is the optimal transport beneath. Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fewlabels import ot
    from fewlabels.api import Run, fit, load, resume
    from fewlabels.errors import Diverged, InputError, RunError
    from fewlabels.estimators import ROTClassifier, TransportLabeler

__version__ = "0.1.0"
__all__ = [
    "Diverged",
    "InputError",
    "ROTClassifier",
    "Run",
    "RunError",
    "TransportLabeler",
    "fit",
    "load",
    "ot",
    "resume",
]

_HOME = {
    "Diverged": "errors",
    "InputError": "errors",
    "RunError": "errors",
    "ROTClassifier": "estimators",
    "TransportLabeler": "estimators",
    "Run": "api",
    "fit": "api",
    "load": "api",
    "resume": "api",
}


def __getattr__(name: str) -> Any:
    if name == "ot":
        return importlib.import_module("fewlabels.ot")
    if name not in _HOME:
        raise AttributeError(f"module 'fewlabels' has no attribute {name!r}")
    return getattr(importlib.import_module(f"fewlabels.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

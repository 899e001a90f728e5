"""The parts of a run record, the one JSON object that tables, figures and pages are made from."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from fewlabels.methods.method import Method
from fewlabels.report.statistics import wilson
from fewlabels.train.config import Config

SCHEMA_VERSION = 1
CURVES = (
    "epoch",
    "step",
    "loss",
    "validation_error",
    "transport_cost",
    "pseudo_label_accuracy",
    "classifier_accuracy",
    "kept",
)


def request(config: Config, method: Method) -> dict[str, Any]:
    """The whole configuration as plain data: what was asked, the labeler's knobs, the terms, the recipe in force."""
    asked = {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if f.name != "overrides"}
    return {
        **{name: value for name, value in asked.items() if value is not None and name != "data_dir"},
        "labeler": None if method.labeler is None else _plain(method.labeler),
        "terms": [[_plain(weight), _plain(term)] for weight, term in method.terms],
        "recipe": _plain(method.recipe),
    }


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"name": type(value).__name__, **fields}
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def test_fields(best: Float[Tensor, "n c"], last: Float[Tensor, "n c"], labels: Int[Tensor, " n"]) -> dict[str, Any]:
    """The test error at the lowest validation error with Wilson's interval, the terminal one, the confusion matrix."""
    labels = labels.to(best.device)
    guess, classes, total = best.argmax(1), best.shape[1], len(labels)
    wrong = int((guess != labels).sum())
    confusion = torch.bincount(labels * classes + guess, minlength=classes * classes).view(classes, classes)
    return {
        "test_error": wrong / total,
        "test_interval": list(wilson(wrong, total)),
        "test_counts": {"wrong": wrong, "total": total},
        "terminal_test_error": int((last.argmax(1) != labels).sum()) / total,
        "confusion": confusion.tolist(),
    }


def packed(wrong: Bool[Tensor, " n"]) -> str:
    """A flag an image, eight to a byte, in base64."""
    return base64.b64encode(np.packbits(wrong.cpu().numpy()).tobytes()).decode()


def curve(lines: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The main columns of the epochs."""
    return {key: [line.get(key) for line in lines] for key in CURVES if any(key in line for line in lines)}

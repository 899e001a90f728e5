"""What every labeler needs of its input; each error says what was found and what to do."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from fewlabels.errors import Diverged, InputError
from fewlabels.labels.steps import Pairs, Weights
from fewlabels.ot.wasserstein import Solver


def check_rows(x_l: Float[Tensor, "l d"], y_l: Int[Tensor, " l"], x_u: Float[Tensor, "u d"]) -> None:
    """Raise when these are not two finite tables of one kind, with something to label and a label a labelled row."""
    _check_table("x_l", x_l)
    _check_table("x_u", x_u)
    if _kind(x_l) != _kind(x_u):
        raise InputError(f"x_l has {_kind(x_l)} and x_u has {_kind(x_u)}: give both the same columns, type and device")
    if not (isinstance(y_l, Tensor) and y_l.dtype == torch.int64 and y_l.shape == (len(x_l),)):
        raise InputError(
            f"y_l is {_described(y_l)} and x_l has {len(x_l)} rows: give a tensor with the number of each row's class, "
            "of type torch.int64"
        )
    if not len(x_u):
        raise InputError("there are 0 unlabelled rows and at least 1 is needed: train with method 'supervised' instead")
    _check_finite("unlabelled", x_u)
    _check_finite("labelled", x_l)


def _check_table(name: str, rows: Any) -> None:
    held = isinstance(rows, Tensor) and rows.dtype in (torch.float32, torch.float64)
    if not (held and rows.ndim == 2 and rows.shape[1]):
        raise InputError(
            f"{name} is {_described(rows)}: give a tensor of rows and columns, of type torch.float32 or torch.float64"
        )


def _kind(rows: Float[Tensor, "n d"]) -> str:
    return f"{rows.shape[1]} columns of {rows.dtype} on {rows.device}"


def _described(value: Any) -> str:
    if isinstance(value, Tensor | np.ndarray):
        return f"a {type(value).__name__} of {value.dtype} and shape {tuple(value.shape)}"
    return f"of type {type(value).__name__}"


def _check_finite(name: str, rows: Float[Tensor, "n d"]) -> None:
    """Raise ``Diverged``, for a network is where such rows come from; who trains knows the epoch and adds it."""
    bad = int((~torch.isfinite(rows)).any(1).sum())
    if bad:
        raise Diverged(
            f"{bad} of {len(rows)} {name} outputs are not finite: lower the learning rate of the network they are of, "
            "or leave such rows out"
        )


def class_counts(y_l: Int[Tensor, " l"], classes: int) -> Int[Tensor, " c"]:
    """How many labelled rows each class has: never none."""
    if not (isinstance(classes, Integral) and classes >= 1):
        raise InputError(f"classes is {classes!r} and at least 1 is needed: give the number of classes")
    if len(y_l) and not 0 <= int(y_l.min()) <= int(y_l.max()) < classes:
        raise InputError(
            f"labels run from {int(y_l.min())} to {int(y_l.max())} and must lie in 0 .. {classes - 1}: "
            "number the classes from 0 and leave unlabelled rows out of x_l"
        )
    counts = torch.bincount(y_l, minlength=classes)
    if empty := (counts == 0).nonzero().flatten().tolist():
        raise InputError(
            f"{len(empty)} of {classes} classes came without a labelled row ({_some(empty)}) and each needs at least "
            "1: label one image of each, or leave those classes out"
        )
    return counts


def class_masses(prior: Tensor | tuple[float, ...] | None, counts: Int[Tensor, " c"]) -> Float[Tensor, " c"]:
    """alpha of Sec. 4, on the CPU in float64: the labelled shares of the classes, or the prior someone knows."""
    if prior is None:
        return counts.cpu().double() / int(counts.sum())
    masses = read_masses(prior)
    if masses.shape != counts.shape:
        raise InputError(
            f"class_prior has {masses.numel()} entries and there are {len(counts)} classes: give one mass a class"
        )
    total = float(masses.sum())
    if not (bool((masses >= 0).all()) and abs(total - 1) <= 1e-4):
        raise InputError(
            f"class_prior sums to {total:.6g} with a least entry of {float(masses.min()):.4g}; "
            "it must sum to 1 without negative entries: divide it by its sum"
        )
    return masses / total


def read_masses(prior: Any) -> Float[Tensor, "..."]:
    """A class prior of any kind as numbers, on the CPU in float64."""
    try:
        numbers = prior if isinstance(prior, Tensor) else np.array(prior, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"class_prior is {prior!r}: give one mass a class, in the order of the classes") from None
    return torch.as_tensor(numbers, dtype=torch.float64, device="cpu")


def cluster_count(clusters: int | None, classes: int) -> int:
    """k of Alg. 1: one cluster a class unless more are asked for."""
    if clusters is None:
        return classes
    if clusters < classes:
        raise InputError(
            f"{clusters} clusters for {classes} classes leave some without a row: ask for {classes} or more"
        )
    return clusters


def options(*, clusters: int | None, reg: float, order: float, power: float, weights: Weights, solver: Pairs) -> None:
    """Raise when an option of the match is out of its range."""
    if not (clusters is None or (isinstance(clusters, Integral) and clusters >= 1)):
        raise InputError(f"clusters is {clusters!r}: give a whole number of at least 1, or None for one a class")
    if not (isinstance(reg, Real) and 0 < reg < float("inf")):
        raise InputError(f"reg is {reg!r} and the entropy of Eq. (3) needs a weight above 0: 0.1 to 1 is usual")
    check_order(order)
    if not (isinstance(power, Real) and 0 < power < float("inf")):
        raise InputError(f"power is {power!r} and must be above 0: 1 as in Alg. 2, or the order as in Eq. (2)")
    if weights not in ("free", "uniform", "prior"):
        raise InputError(f"weights is {weights!r}: choose free, uniform or prior")
    if solver not in ("bound", "exact") and not isinstance(solver, Solver):
        raise InputError(f"solver is {solver!r}: choose bound, exact or an ot.Sinkhorn(reg=...)")
    if solver == "bound" and order < 2:
        raise InputError(f"solver='bound' bounds W_k for k >= 2 and order is {order}: use solver='exact' or order=2")


def check_order(order: float) -> None:
    """W_k is a distance for finite k >= 1 only."""
    if not (isinstance(order, Real) and 1 <= order < float("inf")):
        raise InputError(f"order is {order!r} and W_k needs a finite k >= 1: use 1 or 2")


def _some(values: list[int]) -> str:
    return ", ".join(map(str, values[:8])) + (", ..." if len(values) > 8 else "")

"""What every labeler needs of its input; each error says what was found and what to do."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fewlabels.errors import Diverged, InputError
from fewlabels.labels.steps import Pairs, Weights


def finite(name: str, rows: Float[Tensor, "n d"]) -> None:
    """Raise ``Diverged`` when a row holds NaN or infinity; who trains knows the epoch and adds it."""
    bad = int((~torch.isfinite(rows)).any(1).sum())
    if bad:
        raise Diverged(
            f"{bad} of {len(rows)} {name} outputs are not finite: the network has diverged; lower the learning rate "
            "or raise the weight decay, and go on from the last good checkpoint"
        )


def rows_to_label(rows: Float[Tensor, "u d"]) -> None:
    """Raise when there is nothing to label."""
    if not len(rows):
        raise InputError("there are 0 unlabelled rows and at least 1 is needed: train with method 'supervised' instead")
    finite("unlabelled", rows)


def class_counts(x_l: Float[Tensor, "l d"], y_l: Int[Tensor, " l"], classes: int) -> Int[Tensor, " c"]:
    """How many labelled rows each class has: never none."""
    finite("labelled", x_l)
    if len(y_l) and not 0 <= int(y_l.min()) <= int(y_l.max()) < classes:
        raise InputError(
            f"labels run from {int(y_l.min())} to {int(y_l.max())} and must lie in 0 .. {classes - 1}: "
            "number the classes from 0 and leave unlabelled rows out of x_l"
        )
    counts = torch.bincount(y_l, minlength=classes)
    if empty := (counts == 0).nonzero().flatten().tolist():
        raise InputError(
            f"{len(empty)} of {classes} classes have no labelled row ({_some(empty)}) and each needs at least 1: "
            "label one image of each, or leave those classes out"
        )
    return counts


def class_masses(prior: Tensor | tuple[float, ...] | None, counts: Int[Tensor, " c"]) -> Float[Tensor, " c"]:
    """alpha of Sec. 4, on the CPU in float64: the labelled shares of the classes, or the prior someone knows."""
    if prior is None:
        return counts.cpu().double() / int(counts.sum())
    masses = torch.as_tensor(prior, dtype=torch.float64, device="cpu")
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


def cluster_count(clusters: int | None, classes: int) -> int:
    """k of Alg. 1: one cluster a class unless more are asked for."""
    if clusters is None:
        return classes
    if clusters < classes:
        raise InputError(
            f"{clusters} clusters for {classes} classes leave some without a row: ask for {classes} or more"
        )
    return clusters


def options(*, reg: float, order: float, power: float, weights: Weights, solver: Pairs) -> None:
    """Raise when an option of the match is out of its range."""
    if not 0 < reg < float("inf"):
        raise InputError(f"reg is {reg} and the entropy of Eq. (3) needs a weight above 0: 0.1 to 1 is usual")
    if not 1 <= order < float("inf"):
        raise InputError(f"order is {order} and W_k needs k >= 1: use 1 or 2")
    if not 0 < power < float("inf"):
        raise InputError(f"power is {power} and must be above 0: 1 as in Alg. 2, or the order as in Eq. (2)")
    if weights not in ("free", "uniform", "prior"):
        raise InputError(f"weights is {weights!r}: choose free, uniform or prior")
    if isinstance(solver, str) and solver not in ("bound", "exact"):
        raise InputError(f"solver is {solver!r}: choose bound, exact or an ot.Sinkhorn(reg=...)")
    if solver == "bound" and order < 2:
        raise InputError(f"solver='bound' bounds W_k for k >= 2 and order is {order}: use solver='exact' or order=2")


def _some(values: list[int]) -> str:
    return ", ".join(map(str, values[:8])) + (", ..." if len(values) > 8 else "")

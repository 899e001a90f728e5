"""Distances in which classes are round: what few labels cannot say of the columns, labels of a whole pool can."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


def within_classes(rows: Float[Tensor, "n d"], labels: Int[Tensor, " n"], classes: int) -> Float[Tensor, "d d"]:
    """``S^(-1/2)``, S the covariance of the rows about the means of their classes, shrunk as few rows need it.

    Multiplied by it, a row has the same spread within its class in every direction. Rows without any keep their metric.

    >>> rows = torch.tensor([[0.0, -4.0], [0.0, 4.0], [9.0, -4.0], [9.0, 4.0], [8.0, 0.0], [10.0, 0.0]])
    >>> metric = within_classes(rows, torch.tensor([0, 0, 1, 1, 1, 1]), 2)
    >>> bool(metric[0, 0] > metric[1, 1])
    True
    """
    rows = rows - rows.mean(0)
    sizes = torch.bincount(labels, minlength=classes).clamp_min(1)
    means = rows.new_zeros(classes, rows.shape[1]).index_add_(0, labels, rows) / sizes[:, None]
    residuals = rows - means[labels]
    values, vectors = torch.linalg.eigh(shrunk_covariance(residuals))
    if float(values[-1]) <= 0:
        return torch.eye(rows.shape[1], dtype=rows.dtype, device=rows.device)
    floor = float(values[-1]) * torch.finfo(values.dtype).eps
    return ((vectors / values.clamp_min(floor).sqrt()) @ vectors.T).to(rows)


def shrunk_covariance(x: Float[Tensor, "n d"]) -> Float[Tensor, "d d"]:
    """Ledoit and Wolf (2004): the covariance of centred rows, drawn towards a multiple of the identity, in float64.

    As far as its error is expected to be: ``(1 - s) S + s tr(S)/d I`` with s the share of ``||S - tr(S)/d I||^2`` that
    the scatter of the rows about S explains.
    """
    n, d = x.shape
    S = (x.T @ x).double() / n
    identity = torch.eye(d, dtype=S.dtype, device=S.device)
    target = S.trace() / d * identity
    away = (S - target).square().sum()
    scatter = (x.square().sum(1).double().square().mean() - S.square().sum()) / n
    s = (scatter / away).clamp(0, 1) if float(away) > 0 else 1.0
    return (1 - s) * S + s * target

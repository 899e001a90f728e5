"""Batch normalisation in passes that are not the student's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


@contextmanager
def frozen_statistics(model: nn.Module) -> Iterator[None]:
    """Normalise with the batch's statistics, but leave the running ones as they are.

    For auxiliary passes in training mode (a second view, a perturbed image), whose images must not shift what
    evaluation will use. In evaluation mode nothing changes.

    >>> norm = nn.BatchNorm2d(1)
    >>> with frozen_statistics(norm):
    ...     _ = norm(nn.init.ones_(nn.Parameter(norm.weight.new_empty(2, 1, 1, 1))))
    >>> norm.running_mean.item(), norm.num_batches_tracked.item()
    (0.0, 0)
    """
    tracking = [m for m in model.modules() if isinstance(m, _BatchNorm) and m.track_running_stats]
    for norm in tracking:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm in tracking:
            norm.track_running_stats = True

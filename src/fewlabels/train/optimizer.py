"""Optimizers as a recipe names them."""

from __future__ import annotations

import torch
from torch import nn

from fewlabels.methods.method import Recipe


def make_optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Adam, or SGD with Nesterov's momentum; weight decay leaves biases and batch normalisation alone."""
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": recipe.weight_decay},
        {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    # One kernel for all weights on a GPU, where launching several would take longer than they run.
    fused = all(p.is_cuda for p in trained)
    if recipe.optimizer == "adam":
        return torch.optim.Adam(groups, lr=recipe.learning_rate, fused=fused, foreach=not fused)
    return torch.optim.SGD(
        groups,
        lr=recipe.learning_rate,
        momentum=recipe.momentum,
        nesterov=recipe.momentum > 0,
        fused=fused,
        foreach=not fused,
    )


def set_learning_rate(optimizer: torch.optim.Optimizer, value: float) -> None:
    """The same rate for every group."""
    for group in optimizer.param_groups:
        group["lr"] = value

"""One run of the training loop on samples in memory: no folder, no validation part, no trace in global state."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Shaped
from torch import Tensor, nn

from fewlabels.data.images import seal
from fewlabels.data.splits import Split
from fewlabels.errors import InputError
from fewlabels.estimators.samples import Reader
from fewlabels.estimators.targets import Targets
from fewlabels.methods import Method
from fewlabels.train.device import make_fabric, pick_device
from fewlabels.train.evaluate import Store
from fewlabels.train.loop import begin, train_epoch
from fewlabels.train.problem import Problem, check_network
from fewlabels.train.schedule import Budget, Clock


def train(
    samples: Shaped[Tensor, "n *shape"],
    targets: Targets,
    reader: Reader,
    model: str | nn.Module,
    method: Method,
    *,
    seed: int,
    device: str,
    tell: Callable[[dict[str, Any]], None],
) -> tuple[nn.Module, list[dict[str, Any]]]:
    """Algorithm 2: the trained network, back on the CPU, and each epoch's metrics, which ``tell`` hears first."""
    fabric = make_fabric(device=pick_device(device), precision="float32", devices=1, nodes=1)
    cuda = [torch.cuda.current_device()] if fabric.device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):  # whatever draws from torch's own generator leaves no trace
        torch.manual_seed(seed)
        classes = len(targets.classes)
        network = _network(model, reader, classes)
        problem = _pose(samples, targets, reader.to(fabric.device), fabric.device)
        check_network(network.to(fabric.device), problem)
        clock = Clock(Budget(steps=method.recipe.epochs * method.recipe.epoch_steps))
        training = begin(problem, method, network, clock, fabric, seed=seed)
        history = []
        while not training.done:
            history.append(train_epoch(training))
            tell(history[-1])
        return training.judged.cpu().eval().requires_grad_(False), history


def _network(model: str | nn.Module, reader: Reader, classes: int) -> nn.Module:
    """A network called by its name, or a copy of one that was given."""
    if isinstance(model, str):
        return reader.network(model, classes)
    if not isinstance(model, nn.Module):
        raise InputError(f"model is {model!r}: give a name, 'auto' say, or a torch.nn.Module")
    return copy.deepcopy(model)


def _pose(samples: Shaped[Tensor, "n *shape"], targets: Targets, reader: Reader, device: torch.device) -> Problem:
    shown, truth = seal(targets.codes, targets.labeled)
    return Problem(
        classes=len(targets.classes),
        split=Split(targets.labeled, targets.unlabeled, torch.empty(0, dtype=torch.int64)),
        labels=shown,
        truth=truth,
        store=Store.place(samples, device),
        clean=reader.clean,
        view=reader.view,
        validation=None,
        test=None,
        device=device,
    )

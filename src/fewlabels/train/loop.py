"""The training loop: Algorithm 2, and every other method, step by step.

This is the one place where things change in time. ``Training`` holds all of it, ``state`` and ``restore`` turn it
into a tree for the checkpoint and back, and ``train_epoch`` moves it on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from lightning_fabric import Fabric
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from fewlabels.data.augment import Draws, View
from fewlabels.data.batches import Stream, shard
from fewlabels.errors import Diverged, InputError
from fewlabels.methods.method import Batch, Method, State, Step, weight_at
from fewlabels.models.ema import Ema
from fewlabels.train.evaluate import gather, laid_out, outputs, wrong
from fewlabels.train.labelling import (
    Labelled,
    Pool,
    check_features,
    check_labeler,
    check_outputs,
    label_pool,
    restore_pool,
)
from fewlabels.train.optimizer import make_optimizer, set_learning_rate
from fewlabels.train.problem import Part, Problem
from fewlabels.train.schedule import Clock, alpha_factor, learning_rate_factor


@dataclass
class Best:
    """The weights at the lowest validation error so far: the ones that are reported (Sec. 7)."""

    epoch: int
    validation_error: float
    weights: dict[str, Tensor]


@dataclass
class Training:
    """Everything that changes during a run."""

    problem: Problem
    method: Method
    fabric: Fabric
    network: nn.Module  # as the user knows it
    model: nn.Module  # the same, wrapped by Fabric
    optimizer: torch.optim.Optimizer
    clock: Clock
    ema: Ema | None
    terms: list[State]
    labeled: Stream
    unlabeled: Stream | None
    generators: dict[str, Generator]
    labeled_view: View
    unlabeled_views: tuple[View, ...]
    epoch: int = 0  # epochs done
    pool: Pool | None = None
    best: Best | None = None
    labelled: Labelled | None = field(default=None, repr=False)  # the last labelling, for the run's folder

    @property
    def judged(self) -> nn.Module:
        """The network whose outputs are judged."""
        return self.network if self.ema is None or self.method.recipe.evaluate == "student" else self.ema.module

    @property
    def done(self) -> bool:
        """Whether the budget is spent."""
        return self.clock.now(_common_time(self)).fraction >= 1.0

    @property
    def matched(self) -> nn.Module:
        """The network whose outputs the labeler sees."""
        return self.network if self.ema is None or self.method.recipe.match_with == "student" else self.ema.module


def begin(
    problem: Problem,
    method: Method,
    network: nn.Module,
    clock: Clock,
    fabric: Fabric,
    *,
    seed: int,
    compiled: bool = False,
) -> Training:
    """A run before its first step. ``network`` is on the device already."""
    recipe = method.recipe
    names = ("views", "terms", "pool", "order", "labeler", "labeled", "unlabeled")
    generators = {
        name: Generator(problem.device if name in ("views", "terms") else "cpu").manual_seed(1_000_003 * seed + i)
        for i, name in enumerate(names)
    }
    unlabeled = len(problem.split.unlabeled)
    if method.labeler is not None:
        check_labeler(method.labeler, problem)
    if method.labeler is not None and recipe.match_on == "features":
        check_features(network, problem)
    ema = Ema(network) if recipe.ema else None
    optimizer = make_optimizer(network, recipe)
    if fabric.world_size > 1 and problem.device.type == "cuda":  # gloo on CPUs has no synchronised statistics
        network = nn.SyncBatchNorm.convert_sync_batchnorm(network)
    model, optimizer = fabric.setup(torch.compile(network) if compiled else network, optimizer)
    prior = problem.class_counts / problem.class_counts.sum()
    return Training(
        problem=problem,
        method=method,
        fabric=fabric,
        network=network,
        model=model,
        optimizer=optimizer,
        clock=clock,
        ema=ema,
        terms=[
            term.init(network, classes=problem.classes, unlabeled=unlabeled, prior=prior.to(problem.device))
            for _, term in method.active
        ],
        labeled=Stream(len(problem.split.labeled), _labeled_batch(method), generators["labeled"]),
        unlabeled=Stream(unlabeled, recipe.unlabeled_batch, generators["unlabeled"]) if method.active else None,
        generators=generators,
        labeled_view=problem.view(recipe.labeled_view),
        unlabeled_views=tuple(problem.view(name) for name in recipe.unlabeled_views),
    )


def _labeled_batch(method: Method) -> int:
    recipe = method.recipe
    alone = not method.uses_unlabeled and recipe.supervised_batch is not None
    return recipe.supervised_batch if alone else recipe.labeled_batch  # type: ignore[return-value]


def check_shares(method: Method, world: int) -> None:
    """Every process needs a row of every batch, for the mean over none is not a number; asked before any is started."""
    batches = [_labeled_batch(method)] + [method.recipe.unlabeled_batch] * method.uses_unlabeled
    if min(batches) < world:
        raise InputError(
            f"batches of {min(batches)} images cannot be shared by {world} processes: "
            "ask for fewer --devices or larger batches"
        )


def train_epoch(t: Training) -> dict[str, Any]:
    """``epoch_steps`` optimizer updates, with new pseudo-labels first where they are due; the epoch's metrics."""
    recipe, began = t.method.recipe, time.perf_counter()
    metrics: dict[str, Any] = {}
    if _labels_are_due(t):
        metrics = _relabel(t)
    labelled = time.perf_counter()
    t.model.train()
    total, steps, images = torch.zeros((), device=t.problem.device), 0, 0
    for _ in range(recipe.epoch_steps):
        where = t.clock.now(_common_time(t))
        if steps and where.fraction >= 1.0:  # labelling may have spent the rest of a budget in minutes
            break
        loss, count = _step(t, where)
        total, steps, images = total + loss, steps + 1, images + count
    mean = t.fabric.all_reduce(total / steps, reduce_op="mean").item()
    t.epoch += 1
    _same_statistics(t)
    if not torch.isfinite(torch.tensor(mean)):
        raise Diverged(
            f"the loss at epoch {t.epoch} is {mean}: lower learning_rate (now {recipe.learning_rate}) or alpha "
            f"(now {recipe.alpha})"
        )
    check_outputs(t.network, t.problem, t.fabric, epoch=t.epoch)
    trained = time.perf_counter()
    stages = {**metrics.pop("stage_seconds", {}), "train": trained - labelled}
    return {
        "epoch": t.epoch,
        "step": t.clock.step,
        "images": images,
        "loss": mean,
        "learning_rate": t.optimizer.param_groups[0]["lr"],
        "images_per_second": images / max(trained - labelled, 1e-9),
        "stage_seconds": stages,
        "epoch_seconds": trained - began,
        **metrics,
    }


@torch.no_grad()
def _same_statistics(t: Training) -> None:
    """Give every process the first one's running statistics.

    Where batch normalisation is not synchronised (gloo, on CPUs) each process normalises its own share, and outputs
    would depend on which process computed them; a resumed run, too, knows only the first one's.
    """
    if t.fabric.world_size == 1 or t.problem.device.type == "cuda":
        return
    buffers = [*t.network.buffers(), *(() if t.ema is None else t.ema.module.buffers())]
    for buffer, first in zip(buffers, t.fabric.broadcast(buffers), strict=True):
        buffer.copy_(first)


def _step(t: Training, where: Step) -> tuple[Tensor, int]:
    """One optimizer update on the global batch: this rank's loss, and how many images all ranks took."""
    recipe = t.method.recipe
    set_learning_rate(t.optimizer, recipe.learning_rate * learning_rate_factor(recipe.schedule, where.fraction))
    positions = t.problem.split.labeled[next(t.labeled)]
    images, count = _see(t, t.labeled_view, positions), len(positions)
    labels = _moved(t, t.problem.labels[positions[_mine(t, count)]])
    rows = _unlabeled_rows(t)
    chosen = None if rows is None else rows if t.pool is None else t.pool.positions[rows]
    views = (
        () if chosen is None else tuple(_see(t, view, t.problem.split.unlabeled[chosen]) for view in t.unlabeled_views)
    )
    seen = torch.cat([images, views[-1]]) if views else images
    with t.fabric.autocast():
        logits = t.model(laid_out(seen)).float()
    known, student = logits.split([len(images), len(seen) - len(images)])
    # Eq. (5). A rank's mean counts as much as the rows behind it, so the split over ranks does not change the loss.
    loss = _share(t, len(images), count) * F.cross_entropy(known, labels)
    if rows is not None and chosen is not None:
        mine = _mine(t, len(rows))
        other = _share(t, len(student), len(rows)) * _unlabeled_loss(
            t,
            Batch(
                images,
                labels,
                known,
                views,
                student,
                _moved(t, chosen[mine]),
                t.generators["terms"],
                lambda mine: gather(mine.detach(), len(rows), t.fabric),
            ),
            _moved(t, rows[mine]),
            where,
        )
        part = count / (count + len(rows))
        loss = part * loss + (1 - part) * other if recipe.divide_by == "batch" else loss + other
    t.optimizer.zero_grad(set_to_none=True)
    t.fabric.backward(loss)
    t.optimizer.step()
    t.clock.step += 1
    for i, (_, term) in enumerate(t.method.active):
        t.terms[i] = term.update(t.terms[i], t.model, where)
    if t.ema is not None and recipe.ema is not None:
        t.ema.update(t.network, recipe.ema)
    return loss.detach(), count + (0 if rows is None else len(rows))


def _unlabeled_loss(t: Training, batch: Batch, rows: Int[Tensor, " u"], where: Step) -> Float[Tensor, ""]:
    """Eq. (5)'s second part, when there are pseudo-labels, and the method's terms."""
    recipe = t.method.recipe
    loss = torch.zeros((), device=t.problem.device)
    if t.pool is not None:
        alpha = recipe.alpha * alpha_factor(recipe.alpha_ramp, recipe.warmup, where.fraction)
        loss = loss + alpha * F.cross_entropy(batch.student, t.pool.targets(rows))
    for i, (weight, term) in enumerate(t.method.active):
        with t.fabric.autocast():
            value, t.terms[i] = term.loss(t.terms[i], t.model, batch, where)
        loss = loss + weight_at(weight, where) * value
    return loss


def _unlabeled_rows(t: Training) -> Int[Tensor, " u"] | None:
    """The next global batch: rows of the pool when there is one, else of all unlabelled images, for the terms alone."""
    if t.pool is not None and len(t.pool.positions):
        return next(t.pool.stream)
    return None if t.unlabeled is None else next(t.unlabeled)


def _see(t: Training, view: View, indices: Int[Tensor, " b"]) -> Float[Tensor, "m *shape"]:
    """This rank's rows of a global batch, as a view shows them."""
    mine = _mine(t, len(indices))
    draws = Draws(t.generators["views"], len(indices), mine.start, mine.stop - mine.start)
    return view(t.problem.store.take(indices[mine]), draws)


def _moved(t: Training, indices: Int[Tensor, " b"]) -> Int[Tensor, " b"]:
    """On the device, without waiting for what it still computes."""
    return indices.to(t.problem.device, non_blocking=True)


def _mine(t: Training, count: int) -> slice:
    return shard(count, t.fabric.global_rank, t.fabric.world_size)


def _share(t: Training, mine: int, count: int) -> float:
    """What makes the ranks' average of means the mean over all rows."""
    return mine * t.fabric.world_size / count


def _common_time(t: Training) -> float:
    """The seconds spent, as rank 0 counts them: a wall-clock budget must end at the same step everywhere."""
    seconds = t.clock.seconds
    wall = t.clock.budget.minutes is not None and t.fabric.world_size > 1
    return t.fabric.broadcast(seconds) if wall else seconds


def _labels_are_due(t: Training) -> bool:
    if t.method.labeler is None or t.clock.now(_common_time(t)).fraction < t.method.recipe.warmup:
        return False
    return t.pool is None or t.epoch - t.pool.epoch >= t.method.recipe.relabel_epochs


def _relabel(t: Training) -> dict[str, Any]:
    """Lines 3 to 11 of Algorithm 2."""
    assert t.method.labeler is not None
    if t.pool is None and t.method.recipe.reset_optimizer:
        t.optimizer.state.clear()
    t.labelled = label_pool(
        t.matched,
        t.problem,
        t.method.labeler,
        t.method.recipe,
        t.fabric,
        epoch=t.epoch,
        draw=t.generators["pool"],
        order=t.generators["order"],
        generator=t.generators["labeler"],
    )
    t.pool = t.labelled.pool
    return dict(t.labelled.metrics)


def validate(t: Training) -> dict[str, Any]:
    """The validation error, and the best weights so far if these are they."""
    if t.problem.validation is None:
        return {"validation_error": None}
    began = time.perf_counter()
    mistakes = judge(t, t.judged, t.problem.validation)
    error = mistakes.float().mean().item()
    if t.best is None or error < t.best.validation_error:
        t.best = Best(t.epoch, error, _weights(t.judged))
    return {"validation_error": error, "stage_seconds": {"evaluate": time.perf_counter() - began}}


def judge(t: Training, model: nn.Module, part: Part) -> Bool[Tensor, " n"]:
    """Which images of a part a network gets wrong."""
    return wrong(predict_part(t, model, part), part.labels).cpu()


def predict_part(t: Training, model: nn.Module, part: Part) -> Float[Tensor, "n c"]:
    """Class probabilities of the clean images of a part."""
    return outputs(model, part.store, part.indices, t.problem.clean, t.fabric)


def _weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def state(t: Training) -> dict[str, Any]:
    """Everything the rest of the run depends on, as a tree."""
    return {
        "data": t.problem.fingerprint,
        "epoch": t.epoch,
        "step": t.clock.step,
        "seconds": t.clock.seconds,
        "network": t.network.state_dict(),
        "optimizer": t.optimizer.state_dict(),
        "ema": None if t.ema is None else t.ema.state_dict(),
        "terms": list(t.terms),
        "labeled": t.labeled.state_dict(),
        "unlabeled": None if t.unlabeled is None else t.unlabeled.state_dict(),
        "pool": None if t.pool is None else t.pool.state(),
        "best": None if t.best is None else vars(t.best),
        "generators": {name: generator.get_state() for name, generator in t.generators.items()},
        "global_generator": torch.get_rng_state(),
        "device_generator": torch.cuda.get_rng_state(t.problem.device) if t.problem.device.type == "cuda" else None,
    }


def restore(t: Training, saved: dict[str, Any]) -> None:
    """Stand where ``state`` was taken."""
    if saved["data"] != t.problem.fingerprint:
        raise InputError("the checkpoint was made with other data: resume with what the run was started on")
    try:
        _restore(t, saved)
    except (KeyError, TypeError, AttributeError, RuntimeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"the checkpoint does not fit this run ({type(error).__name__}: {reason}): its config.toml has changed, or "
            "it is of another version; restore what the run was started with, or start a new run"
        ) from error


def _restore(t: Training, saved: dict[str, Any]) -> None:
    for name, there in (("ema", t.ema), ("unlabeled", t.unlabeled)):
        if (saved[name] is None) != (there is None):
            raise ValueError(f"{name} is part of only one of them")
    if len(saved["terms"]) != len(t.terms):
        raise ValueError(f"it has {len(saved['terms'])} terms and the run {len(t.terms)}")
    t.epoch, t.clock.step, t.clock.earlier = saved["epoch"], saved["step"], saved["seconds"]
    t.network.load_state_dict(saved["network"])
    t.optimizer.load_state_dict(saved["optimizer"])
    if t.ema is not None:
        t.ema.load_state_dict(saved["ema"])
    t.terms = [_to_device(term, t.problem.device) for term in saved["terms"]]
    for name, generator in t.generators.items():
        generator.set_state(saved["generators"][name])
    t.labeled.load_state_dict(saved["labeled"])
    if t.unlabeled is not None:
        t.unlabeled.load_state_dict(saved["unlabeled"])
    if saved["pool"] is not None:
        t.pool = restore_pool(saved["pool"], t.method.recipe, t.generators["order"], t.problem.device)
    if saved["best"] is not None:
        t.best = Best(**saved["best"])
    torch.set_rng_state(saved["global_generator"])
    if saved["device_generator"] is not None and t.problem.device.type == "cuda":
        torch.cuda.set_rng_state(saved["device_generator"], t.problem.device)


def _to_device(node: Any, device: torch.device) -> Any:
    """A term's state, with its tensors on the device."""
    if isinstance(node, Tensor):
        return node.to(device)
    if isinstance(node, dict):
        return {key: _to_device(value, device) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return type(node)(_to_device(value, device) for value in node)
    return node

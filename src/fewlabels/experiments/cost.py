"""What a table costs before it is run: runs, steps, images, and hours at a measured or a stated speed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median

import torch
from torch.nn import functional as F

from fewlabels.methods.method import Method
from fewlabels.models import build
from fewlabels.report.names import duration, thousands
from fewlabels.report.records import Record
from fewlabels.train.config import Config, plan_of
from fewlabels.train.device import pick_device


@dataclass(frozen=True)
class Estimate:
    """What is left to do. ``seconds`` is for one run after the other on one device."""

    runs: int
    held: int  # in the records already
    cut_off: int  # among the runs, those that go on from a checkpoint
    steps: int
    images: int
    seconds: float
    measured: int  # runs whose method and network a record has timed; the others go by ``images_per_second``
    images_per_second: float | None

    def __str__(self) -> str:
        runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
        runs += f" ({self.held} more in the records already, {self.cut_off} to be gone on with)"
        lines = [f"{runs}: {thousands(self.steps)} steps, {thousands(self.images)} images"]
        if self.runs:
            lines.append(f"{duration(self.seconds)} one after the other on one device: {', '.join(self._basis())}")
        return "\n".join(lines)

    def _basis(self) -> Iterator[str]:
        if self.measured:
            yield f"{self.measured} by the records of their method"
        if self.images_per_second is not None and self.measured < self.runs:
            others = f"{self.runs - self.measured} at {thousands(self.images_per_second)} images/s"
            yield f"{others} (more where a method looks at its images more than once)"


def steps_of(config: Config) -> int:
    """The optimizer updates of a run.

    >>> steps_of(Config("digits", epochs=2))
    128
    """
    recipe = plan_of(config).recipe
    return config.steps or recipe.epochs * recipe.epoch_steps


def images_of(config: Config) -> int:
    """The images of all its batches. Before its first pseudo-labels, ROT sees labelled ones alone.

    >>> images_of(Config("digits", "supervised", steps=100)), images_of(Config("digits", "rot", steps=100))
    (6400, 11008)
    """
    method, steps = plan_of(config), steps_of(config)
    recipe = method.recipe
    alone = recipe.labeled_batch if recipe.supervised_batch is None else recipe.supervised_batch
    if not method.uses_unlabeled:
        return steps * alone
    return steps * recipe.labeled_batch + (steps - _warmup_steps(method, steps)) * recipe.unlabeled_batch


def _warmup_steps(method: Method, steps: int) -> int:
    """Steps without unlabelled images: the warm-up, to its epoch's end; none if there are terms."""
    recipe = method.recipe
    if method.active:
        return 0
    return min(steps, ceil(recipe.warmup * steps / recipe.epoch_steps) * recipe.epoch_steps)


def seconds_per_step(config: Config, records: Iterable[Record], device: str) -> float | None:
    """What a step of the same method with the same batches took, all told; None if no record has timed one here."""
    mine = _pace_key(plan_of(config).recipe.__dict__, config.method, config.model)
    times = [
        r.seconds / r.budget.steps
        for r in records
        if r.seconds and r.budget.steps and (r.device or "").startswith(device)
        if _pace_key(r.config.get("recipe") or {}, r.method, r.config.get("model")) == mine
    ]
    return median(times) if times else None


def _pace_key(recipe: dict[str, object], method: str, model: object) -> tuple[object, ...]:
    return method, model, recipe.get("labeled_batch"), recipe.get("unlabeled_batch"), recipe.get("labeled_view")


def estimate(
    configs: Sequence[Config],
    records: Sequence[Record],
    *,
    held: int = 0,
    done: Sequence[int] | None = None,
    device: str = "auto",
    images_per_second: float | None = None,
) -> Estimate:
    """Add up runs; ``done`` are steps that cut-off runs have behind them."""
    device = pick_device(device)
    behind = [0] * len(configs) if done is None else list(done)
    left = [1 - d / steps_of(c) for c, d in zip(configs, behind, strict=True)]
    paces = [seconds_per_step(config, records, device) for config in configs]
    speed = images_per_second
    if speed is None and None in paces:
        speed = measure(configs[paces.index(None)], device)
    seconds = 0.0
    for config, part, pace in zip(configs, left, paces, strict=True):
        if pace is not None:
            seconds += part * steps_of(config) * pace
        elif speed is not None:
            seconds += part * images_of(config) / speed
    return Estimate(
        runs=len(configs),
        held=held,
        cut_off=sum(d > 0 for d in behind),
        steps=sum(steps_of(c) for c in configs) - sum(behind),
        images=round(sum(part * images_of(c) for c, part in zip(configs, left, strict=True))),
        seconds=seconds,
        measured=sum(pace is not None for pace in paces),
        images_per_second=speed,
    )


def measure(config: Config, device: str, *, batch: int = 128, seconds: float = 1.0) -> float:
    """Images a second of a run's network alone, there and back, on random images: what no record has timed yet."""
    channels, side = (1, 8) if config.data == "digits" else (3, 32)
    network = build(config.model, classes=10, channels=channels).to(device)
    images = torch.rand(batch, channels, side, side, device=device).contiguous(memory_format=torch.channels_last)
    labels = torch.zeros(batch, dtype=torch.int64, device=device)
    F.cross_entropy(network(images), labels).backward()  # the first is slower
    began, count = time.perf_counter(), 0
    while count < 2 or time.perf_counter() - began < seconds:
        F.cross_entropy(network(images), labels).backward()
        count += 1
    if device == "cuda":
        torch.cuda.synchronize()
    return count * batch / (time.perf_counter() - began)

"""A run from its request to its record: ``start`` and ``resume``, in one process or in several."""

from __future__ import annotations

import copy
import dataclasses
import json
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import nn
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException

from fewlabels.data.images import Source
from fewlabels.data.normalize import Normalizer, fit
from fewlabels.data.sources import open_source
from fewlabels.errors import Diverged, InputError, RunError
from fewlabels.methods.method import Method
from fewlabels.models import build
from fewlabels.train import checkpoint
from fewlabels.train.artifacts import save_labelling
from fewlabels.train.conclude import conclude, model_name
from fewlabels.train.config import Config, from_toml, plan_of, to_toml
from fewlabels.train.device import describe, make_fabric, pick_device, pick_precision, processes, repeatable
from fewlabels.train.folder import RunFolder, write_text
from fewlabels.train.loop import Training, begin, check_shares, restore, state, train_epoch, validate
from fewlabels.train.problem import check_network, pose
from fewlabels.train.provenance import provenance
from fewlabels.train.schedule import Budget, Clock
from fewlabels.train.weights import save_weights

OWN_MODULE = "own"  # what a run calls a network that was passed in


@dataclass(frozen=True)
class Started:
    """Told once, before the first step."""

    folder: Path
    config: Config
    budget: Budget
    labeled: int
    unlabeled: int
    validation: int
    device: str
    precision: str
    world_size: int
    epoch: int  # 0, or where a resumed run goes on
    epoch_steps: int


@dataclass(frozen=True)
class Epoch:
    """Told after each epoch."""

    metrics: dict[str, Any]
    fraction: float  # of the budget


@dataclass(frozen=True)
class Finished:
    """Told once, at the end."""

    folder: Path
    record: dict[str, Any]


@dataclass(frozen=True)
class Stopped:
    """Told once, when a run that had started ends early: interrupted, or failed."""

    folder: Path


Event = Started | Epoch | Finished | Stopped
Listener = Callable[[Event], None]  # called in the first process; must survive pickling when there are several


def silent(event: Event) -> None:
    """Tell nobody."""


def start(
    config: Config,
    folder: Path,
    *,
    source: Source | None = None,
    network: nn.Module | None = None,
    listener: Listener = silent,
) -> dict[str, Any]:
    """Train as asked, into a folder that must not exist; the record."""
    RunFolder(folder).refuse_existing()
    return _launch(config, folder, source, network, listener, saved=False)


def resume(
    folder: Path,
    *,
    source: Source | None = None,
    network: nn.Module | None = None,
    listener: Listener = silent,
    device: str | None = None,
    data_dir: str | None = None,
) -> dict[str, Any]:
    """Go on from the last checkpoint; the record. A finished run's record is returned as it is."""
    run = RunFolder(folder)
    if run.finished:
        return finished_record(folder)
    config = from_toml(run.config)
    if device is not None or data_dir is not None:
        config = dataclasses.replace(config, device=device or config.device, data_dir=data_dir or config.data_dir)
    if not run.checkpoint.is_file():
        raise InputError(f"{folder} has no {run.checkpoint.name}: it cannot be resumed; start a new run")
    if config.model == OWN_MODULE and network is None:
        raise InputError(
            f"{folder} trains a module of your own: resume it from Python with fewlabels.resume(..., model=...)"
        )
    return _launch(config, folder, source, network, listener, saved=True)


def finished_record(folder: Path) -> dict[str, Any]:
    """The record of a run that has ended."""
    run = RunFolder(folder)
    if not run.path.is_dir():
        raise InputError(f"there is no run folder {folder}")
    if not run.config.is_file():
        raise InputError(f"there is no {run.config}: is this a run folder?")
    if not run.finished:
        raise InputError(f"{folder} has not ended: `fewlabels resume {folder}` first")
    return run.read_record()


def _launch(
    config: Config, folder: Path, source: Source | None, network: nn.Module | None, listener: Listener, *, saved: bool
) -> dict[str, Any]:
    method = plan_of(config)
    device = pick_device(config.device)
    precision = pick_precision(config.precision, device)
    devices, nodes = processes(config.devices, config.nodes)
    check_shares(method, devices * nodes)
    if source is None:
        source = open_source(config.data, data_dir=config.data_dir, size=config.size, flip=config.flip)
    if network is not None:
        config = dataclasses.replace(config, model=OWN_MODULE)
    fabric = make_fabric(device=device, precision=precision, devices=devices, nodes=nodes)
    sitting = _Sitting(config, method, folder, source, network, listener, precision, saved)
    others = set(multiprocessing.active_children())
    try:
        # The sitting is not an argument of its own: Fabric would walk through it.
        result: dict[str, Any] = fabric.launch(partial(_sit, sitting=sitting))
    except ProcessRaisedException as error:
        raise _told_by_child(str(error), folder) from None
    except ProcessExitedException as error:
        raise RunError(f"one of {devices} processes died ({error}): `fewlabels resume {folder}` goes on") from None
    except KeyboardInterrupt:
        for child in set(multiprocessing.active_children()) - others:  # when this process alone was interrupted
            child.terminate()
        raise KeyboardInterrupt(_after_interrupt(folder)) from None
    return result


def _after_interrupt(folder: Path) -> str:
    if RunFolder(folder).checkpoint.is_file():
        return f"`fewlabels resume {folder}` goes on from the last epoch"
    return "the run had not begun and nothing was written"


@dataclass(frozen=True)
class _Sitting:
    """All that a process needs to know; it is pickled on its way to a spawned one."""

    config: Config
    method: Method
    folder: Path
    source: Source
    network: nn.Module | None
    listener: Listener
    precision: str
    saved: bool


def _told_by_child(text: str, folder: Path) -> Exception:
    """The error a spawned process ended with, from the last line of its traceback."""
    last = text.strip().splitlines()[-1]
    name, _, message = last.partition(": ")
    kinds: dict[str, type[Exception]] = {kind.__name__: kind for kind in (InputError, RunError, Diverged)}
    kind = kinds.get(name.rpartition(".")[2])
    if kind is not None:
        return kind(message)
    if last.startswith("KeyboardInterrupt"):
        return RunError(f"interrupted: `fewlabels resume {folder}` goes on")
    return RunError(f"a process failed: {text}\n`fewlabels resume {folder}` goes on from the last checkpoint")


def _sit(fabric: Fabric, sitting: _Sitting) -> dict[str, Any]:
    """One sitting of a run, from a fresh or a saved state to the record."""
    with repeatable():
        return _worked(fabric, sitting)


def _worked(fabric: Fabric, sitting: _Sitting) -> dict[str, Any]:
    config, folder = sitting.config, RunFolder(sitting.folder)
    t, normalizer = _prepare(fabric, sitting)
    first = fabric.global_rank == 0
    facts = provenance()
    if sitting.saved:
        restore(t, checkpoint.load(folder.checkpoint, kind="checkpoint"))
        if first:
            folder.drop_metrics_after(t.epoch)
    elif first:
        folder.make()
        write_text(folder.config, to_toml(config))
        checkpoint.save(folder.checkpoint, state(t), kind="checkpoint")
    try:
        return _trained(t, sitting, normalizer, facts)
    except BaseException as error:
        if first:
            sitting.listener(Stopped(folder.path))
        if isinstance(error, Diverged):
            raise Diverged(f"{error}. {_after_divergence(folder)}") from None
        if isinstance(error, InputError):  # too late for one: the folder is there
            raise RunError(str(error)) from error
        raise


def _after_divergence(folder: RunFolder) -> str:
    return (
        "The last checkpoint is from before: set learning_rate lower under [overrides] in "
        f"{folder.config} and `fewlabels resume {folder.path}` goes on from it"
    )


def _trained(t: Training, sitting: _Sitting, normalizer: Normalizer, facts: dict[str, Any]) -> dict[str, Any]:
    config, folder = sitting.config, RunFolder(sitting.folder)
    first = t.fabric.global_rank == 0
    if first:
        sitting.listener(_started(t, sitting))
    while not t.epoch or not t.done:  # a budget of a moment still buys a step
        metrics = train_epoch(t)
        judged = validate(t)
        metrics["stage_seconds"] |= judged.pop("stage_seconds", {})
        metrics |= {**judged, "seconds": t.clock.seconds}
        if first:
            folder.append_metrics(metrics)
            checkpoint.save(folder.checkpoint, state(t), kind="checkpoint")
            sitting.listener(Epoch(metrics, t.clock.fraction(t.clock.seconds)))
    found = conclude(t, folder, config, sitting.source) | {"precision": sitting.precision} | facts
    if first:
        save_weights(folder.weights, t.judged, sitting.source, normalizer, found["model"])
        if t.labelled is not None:
            save_labelling(t, sitting.source, folder.path)
        write_text(folder.record, json.dumps(found, indent=1) + "\n")
        folder.checkpoint.unlink(missing_ok=True)
        sitting.listener(Finished(folder.path, found))
    t.fabric.barrier()
    return found


def _prepare(fabric: Fabric, sitting: _Sitting) -> tuple[Training, Normalizer]:
    config, method, source = sitting.config, sitting.method, sitting.source
    normalizer = fit(config.normalize or source.normalize, source.train.pixels)
    problem = pose(source, normalizer, config, method, fabric.device)
    torch.manual_seed(config.seed)
    network = copy.deepcopy(sitting.network)  # processes that were spawned share the memory of the original
    if network is None:
        network = build(model_name(config, source), classes=problem.classes, channels=source.shape[0])
    network = network.to(fabric.device)
    if fabric.device.type != "mps":
        network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    check_network(network, problem)
    clock = Clock(_budget(config, method))
    return begin(problem, method, network, clock, fabric, seed=config.seed, compiled=config.compile), normalizer


def _budget(config: Config, method: Method) -> Budget:
    if config.minutes is not None:
        return Budget(minutes=config.minutes)
    return Budget(steps=config.steps or method.recipe.epochs * method.recipe.epoch_steps)


def _started(t: Training, sitting: _Sitting) -> Started:
    return Started(
        folder=sitting.folder,
        config=sitting.config,
        budget=t.clock.budget,
        labeled=len(t.problem.split.labeled),
        unlabeled=len(t.problem.split.unlabeled),
        validation=0 if t.problem.validation is None else len(t.problem.validation.indices),
        device=describe(t.fabric.device),
        precision=sitting.precision,
        world_size=t.fabric.world_size,
        epoch=t.epoch,
        epoch_steps=t.method.recipe.epoch_steps,
    )

"""Algorithm 2, lines 3 to 11, inside a run: a pool of unlabelled images, its outputs, its pseudo-labels.

The outputs are computed in shards and joined; one process labels, all train on the same labels. The sealed truth is
opened here for two numbers only, the accuracies of Fig. 1, after the labels are made.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from lightning_fabric import Fabric
from torch import Generator, Tensor, nn

from fewlabels.data.batches import Stream
from fewlabels.data.images import UNKNOWN
from fewlabels.data.splits import draw_pool
from fewlabels.errors import Diverged, InputError
from fewlabels.labels.checks import class_masses, cluster_count
from fewlabels.labels.steps import theta
from fewlabels.labels.types import Labeler, Outputs, PseudoLabels
from fewlabels.methods.method import Recipe
from fewlabels.train.evaluate import outputs
from fewlabels.train.problem import Problem

_PROBE = 64  # images that tell whether a network still gives numbers


@dataclass
class Pool:
    """Pseudo-labelled images: positions among the unlabelled ones, what to predict for them, their order."""

    positions: Int[Tensor, " p"]
    labels: Int[Tensor, " p"]
    soft: Float[Tensor, "p c"] | None
    epoch: int  # when the labels were made
    stream: Stream

    def targets(self, rows: Int[Tensor, " b"]) -> Tensor:
        """Class indices, or distributions for Soft-ROT: both are what ``cross_entropy`` takes."""
        return self.labels[rows] if self.soft is None else self.soft[rows]

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        fields = {"positions": self.positions, "labels": self.labels, "soft": self.soft, "epoch": self.epoch}
        return {**fields, "stream": self.stream.state_dict()}


@dataclass(frozen=True)
class Labelled:
    """What labelling found, and what it cost."""

    pool: Pool
    metrics: dict[str, Any]
    pseudo: PseudoLabels
    positions: Int[Tensor, " u"]  # of all the rows of `pseudo`, those without a label too
    confidence: Float[Tensor, " u"]  # the network's own in its first choice


def label_pool(
    judge: nn.Module,
    problem: Problem,
    labeler: Labeler,
    recipe: Recipe,
    fabric: Fabric,
    *,
    epoch: int,
    draw: Generator,
    order: Generator,
    generator: Generator,
) -> Labelled:
    """Draw a pool, compute the outputs of labelled and pooled images, and let the labeler speak."""
    unlabeled, labeled = problem.split.unlabeled, problem.split.labeled
    size = len(labeled) if recipe.pool == "labeled" else recipe.pool
    positions = draw_pool(len(unlabeled), size, draw)
    features = recipe.match_on == "features"
    see = partial(outputs, judge, problem.store, clean=problem.clean, fabric=fabric)
    began = time.perf_counter()
    known = see(labeled, features=features)
    rows = see(unlabeled[positions])
    matched = see(unlabeled[positions], features=True) if features else rows
    seen = time.perf_counter()
    pseudo = None
    if fabric.global_rank == 0:
        try:
            given = problem.labels[labeled].to(known.device)
            pseudo = labeler(Outputs(known, given, matched, problem.classes, features), generator)
        except Diverged as error:
            raise Diverged(f"at epoch {epoch + 1}: {error}") from None
    pseudo = _shared(pseudo, fabric)
    done = time.perf_counter()
    metrics = {"pool": len(positions), "stage_seconds": {"outputs": seen - began, "match": done - seen}}
    metrics |= _describe(pseudo, problem.classes) | _accuracies(pseudo, rows, problem, positions)
    kept = pseudo.kept
    pool = Pool(
        positions=positions[kept.cpu()],
        labels=pseudo.labels[kept],
        soft=None if pseudo.soft is None else pseudo.soft[kept],
        epoch=epoch,
        stream=_stream(int(kept.sum()), recipe, order),
    )
    return Labelled(pool, metrics, pseudo, positions, rows.max(dim=1).values.cpu())


def check_labeler(labeler: Labeler, problem: Problem) -> None:
    """Refuse now what the labeler would refuse when the warm-up has been paid for."""
    clusters = cluster_count(getattr(labeler, "clusters", None), problem.classes)
    masses = class_masses(getattr(labeler, "class_prior", None), problem.class_counts)
    theta(getattr(labeler, "weights", "free"), masses, clusters)


@torch.no_grad()
def check_features(network: nn.Module, problem: Problem) -> None:
    """Refuse a network whose features cannot be matched now, not when the warm-up has been paid for."""
    if not callable(getattr(network, "features", None)):
        raise InputError(
            f"match_on='features' asks {type(network).__name__} for its features and it has no method of that name: "
            "add features(images), one row an image, or match on outputs"
        )
    was_training = network.training
    rows = network.eval().features(problem.clean(problem.store.take(torch.arange(1))))  # type: ignore[operator]
    network.train(was_training)
    if rows.ndim != 2:
        raise InputError(
            f"{type(network).__name__}.features gives {tuple(rows.shape)} for one image and one row is needed: "
            "pool and flatten what it gives, or match on outputs"
        )


def check_outputs(network: nn.Module, problem: Problem, fabric: Fabric, *, epoch: int) -> None:
    """Raise ``Diverged`` when a batch of labelled images gets outputs that are not numbers.

    The loss of an epoch tells what its last update came from, not what came of it, and a checkpoint of weights that
    give NaN would take the place of the last good one.
    """
    rows = outputs(network, problem.store, problem.split.labeled[:_PROBE], problem.clean, fabric)
    if not torch.isfinite(rows).all():
        raise Diverged(
            f"the network's outputs after epoch {epoch} are not finite: it has diverged; lower the learning rate"
        )


def _shared(pseudo: PseudoLabels | None, fabric: Fabric) -> PseudoLabels:
    """Rank 0's labels on every rank, each on its own device; how they were found stays where it is told."""
    if fabric.world_size == 1:
        assert pseudo is not None
        return pseudo
    sent = None if pseudo is None else _on(replace(pseudo, matching=None), torch.device("cpu"))
    found = _on(fabric.broadcast(sent), fabric.device)
    return found if pseudo is None else replace(found, matching=pseudo.matching)


def _on(pseudo: PseudoLabels, device: torch.device) -> PseudoLabels:
    soft, keep = (None if value is None else value.to(device) for value in (pseudo.soft, pseudo.keep))
    return replace(pseudo, labels=pseudo.labels.to(device), soft=soft, keep=keep)


def _describe(pseudo: PseudoLabels, classes: int) -> dict[str, Any]:
    labels = pseudo.labels[pseudo.kept]
    found: dict[str, Any] = {
        "labels_per_class": torch.bincount(labels, minlength=classes).tolist(),
        "kept": len(labels),
    }
    if (matching := pseudo.matching) is not None:
        found |= {
            "transport_cost": float(matching.cost),
            "collisions": len(matching.collisions),
            "empty_classes": len(matching.empty_classes),
            "cluster_sizes": matching.clustering.sizes.tolist(),
        }
        if matching.note is not None:
            found["note"] = matching.note
    return found


def _accuracies(pseudo: PseudoLabels, rows: Tensor, problem: Problem, positions: Tensor) -> dict[str, float | None]:
    """Fig. 1 c, d: how often the pseudo-labels and the classifier's own are right, on the same images."""
    truth = problem.truth.open_for_metrics()[problem.split.unlabeled[positions]].to(pseudo.labels.device)
    known = (truth != UNKNOWN) & pseudo.kept
    if not known.any():
        return {"pseudo_label_accuracy": None, "classifier_accuracy": None}
    return {
        "pseudo_label_accuracy": (pseudo.labels == truth)[known].float().mean().item(),
        "classifier_accuracy": (rows.argmax(dim=1) == truth)[known].float().mean().item(),
    }


def restore_pool(saved: dict[str, Any], recipe: Recipe, order: Generator, device: torch.device) -> Pool:
    """The pool a checkpoint held."""
    stream = _stream(len(saved["positions"]), recipe, order)
    stream.load_state_dict(saved["stream"])
    soft = None if saved["soft"] is None else saved["soft"].to(device)
    return Pool(saved["positions"], saved["labels"].to(device), soft, saved["epoch"], stream)


def _stream(count: int, recipe: Recipe, order: Generator) -> Stream:
    # Where a labeler abstained everywhere nothing is ever drawn, but a stream must be of something.
    return Stream(max(1, count), recipe.unlabeled_batch, order)

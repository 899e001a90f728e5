"""Whose labels are right: every way to match, on the outputs of one network at four ages.

    python benchmarks/matching.py [--data cifar10|svhn] [--smoke]

A network is trained on the labelled images alone under the desk's recipe and budget. At four ages it looks at all
images, as it is and as the average of its weights; then every way of Algorithm 2 labels the same pools. What differs is
the matching alone: no labels are trained on, so a way cannot help or hurt the outputs of the next.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from records import append
from torch import Generator, Tensor, nn

from fewlabels.data.normalize import fit
from fewlabels.data.sources import open_source
from fewlabels.data.splits import draw_pool
from fewlabels.experiments.presets import desk, smoke
from fewlabels.experiments.sets import LABELS
from fewlabels.labels import ROT, Labeler, SampleToMeasure, SampleToSample
from fewlabels.labels.types import Outputs, PseudoLabels
from fewlabels.models import build
from fewlabels.train.config import Config, plan_of
from fewlabels.train.device import make_fabric, pick_device, pick_precision
from fewlabels.train.evaluate import outputs
from fewlabels.train.loop import Training, begin, train_epoch
from fewlabels.train.problem import pose
from fewlabels.train.schedule import Budget, Clock

AGES = (0.15, 0.4, 0.7, 1.0)  # parts of the budget; the first is where ROT's warm-up ends
DRAWS = 5  # pools
POOL = 8_192


@dataclass(frozen=True)
class Seen:
    """What one network says of all images at one age."""

    known: Tensor
    rows: Tensor
    known_features: Tensor
    features: Tensor


def ways(prior: Tensor) -> dict[str, tuple[Callable[[], Labeler], bool]]:
    """Each way to label, and whether it sees features; ``prior`` is the truth about the unlabelled images."""
    known_prior = tuple(prior.tolist())
    return {
        "rot": (ROT, False),
        "clusters 20": (lambda: ROT(clusters=20), False),
        "clusters 50": (lambda: ROT(clusters=50), False),
        "clusters 200": (lambda: ROT(clusters=200), False),
        "weights uniform": (lambda: ROT(weights="uniform"), False),
        "weights prior": (lambda: ROT(weights="prior"), False),
        "true class prior": (lambda: ROT(class_prior=known_prior), False),
        "true class prior, weights prior": (lambda: ROT(class_prior=known_prior, weights="prior"), False),
        "reg 0.05": (lambda: ROT(reg=0.05), False),
        "reg 1": (lambda: ROT(reg=1.0), False),
        "features": (ROT, True),
        "features, clusters 50": (lambda: ROT(clusters=50), True),
        "features, weights uniform": (lambda: ROT(weights="uniform"), True),
        "ss-gnn": (SampleToSample, False),
        "sm-gnn": (SampleToMeasure, False),
        "features, ss-gnn": (SampleToSample, True),
        "features, sm-gnn": (SampleToMeasure, True),
    }


def begun(data: str, small: bool) -> Training:
    """Supervised training before its first step."""
    config = (smoke if small else desk)(Config(data, "supervised", labels=LABELS[data]))
    plan, source, device = plan_of(config), open_source(config.data), pick_device("auto")
    fabric = make_fabric(device=device, precision=pick_precision("auto", device), devices=1, nodes=1)
    problem = pose(source, fit(source.normalize, source.train.pixels), config, plan, fabric.device)
    torch.manual_seed(config.seed)
    network = build(config.model, classes=problem.classes, channels=source.shape[0]).to(fabric.device)
    network = network.to(memory_format=torch.channels_last)
    return begin(problem, plan, network, Clock(Budget(steps=config.steps)), fabric, seed=config.seed)


def look(t: Training, network: nn.Module) -> Seen:
    """Softmax and features of all labelled and unlabelled images."""
    parts = [t.problem.split.labeled, t.problem.split.unlabeled]
    soft = [outputs(network, t.problem.store, part, t.problem.clean, t.fabric).cpu() for part in parts]
    deep = [outputs(network, t.problem.store, part, t.problem.clean, t.fabric, features=True).cpu() for part in parts]
    return Seen(soft[0], soft[1], deep[0], deep[1])


def purity(found: PseudoLabels, truth: Tensor, classes: int) -> float:
    """How many would be right if each cluster took the class most of it is of."""
    assert found.matching is not None
    of = found.matching.clustering.assignment
    counts = torch.bincount(of * classes + truth, minlength=(int(of.max()) + 1) * classes).view(-1, classes)
    return float(counts.max(1).values.sum()) / len(truth)


def judge(t: Training, seen: Seen, truth: Tensor) -> list[dict[str, Any]]:
    """Accuracy of every way on the same pools, of the classifier, and of the clusters' majorities."""
    classes = t.problem.classes
    given = t.problem.labels[t.problem.split.labeled]
    pools = {"labeled": len(given), "8192": POOL, "all": len(truth)}
    table = ways(torch.bincount(truth, minlength=classes) / len(truth))
    found = []
    for name, (make, deep) in table.items():
        known, rows = (seen.known_features, seen.features) if deep else (seen.known, seen.rows)
        for pool, size in pools.items() if name == "rot" else [("8192", POOL)]:
            scores: dict[str, list[float]] = {"accuracy": [], "classifier": [], "purity": []}
            for draw in range(DRAWS):
                mine = draw_pool(len(truth), size, Generator().manual_seed(draw))
                asked = Outputs(known, given, rows[mine], classes, features=deep)
                labels = make()(asked, Generator().manual_seed(draw))
                scores["accuracy"].append(float((labels.labels == truth[mine]).float().mean()))
                scores["classifier"].append(float((seen.rows[mine].argmax(1) == truth[mine]).float().mean()))
                if labels.matching is not None:
                    scores["purity"].append(purity(labels, truth[mine], classes))
            found.append({"way": name, "pool": pool, **scores})
    return found


def main(data: str, small: bool) -> None:
    t = begun(data, small)
    steps = t.clock.budget.steps or 0
    truth = t.problem.truth.open_for_metrics()[t.problem.split.unlabeled]
    for age in AGES:
        while t.clock.step < age * steps:
            train_epoch(t)
        for name, network in (("average", t.judged), ("student", t.network)):
            for fields in judge(t, look(t, network), truth):
                shown = {
                    key: statistics.mean(values)
                    for key, values in fields.items()
                    if isinstance(values, list) and values
                }
                base = {"data": data, "labels": LABELS[data], "steps": steps, "step": t.clock.step, "network": name}
                if not small:
                    append("matching.jsonl", "labels of every way to match", base | fields)
                print(
                    f"{data:8} {t.clock.step:5} {name:8} {fields['way']:32} pool {fields['pool']:8}",
                    *(f"{key} {value:.2%}" for key, value in shown.items()),
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", choices=tuple(LABELS), default="cifar10")
    parser.add_argument("--smoke", action="store_true", help="digits and few steps; nothing is recorded")
    asked = parser.parse_args()
    main(asked.data, asked.smoke)

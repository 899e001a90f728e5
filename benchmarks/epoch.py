"""Where the time of an epoch of Algorithm 2 goes: CIFAR-10, 4,000 labels, WRN-28-2, stage by stage.

    python benchmarks/epoch.py [--device auto] [--epochs 5]

The seconds are those a run writes down for itself. Shares are of labelling and training together: judging, which comes
once an epoch and is no part of the method, would only make them smaller. The first epoch with labels is left out, for
what is done once (memory, threads, kernels) falls into it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from records import append

from fewlabels.train.config import Config, plan_of
from fewlabels.train.device import pick_device
from fewlabels.train.run import start

MATCH, LABELLING = 0.03, 0.35  # what clustering, pairs and coupling may take, and labelling in all, outputs included


def epochs_of(config: Config) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The record of a run, and the metrics of its epochs with labels but the first."""
    with tempfile.TemporaryDirectory() as place:
        record = start(config, Path(place) / "run")
        lines = (Path(place) / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return record, [line for line in map(json.loads, lines) if "match" in line["stage_seconds"]][1:]


def measure(name: str, epochs: int, device: str) -> None:
    """Print and store the seconds of each stage and the shares of labelling."""
    overrides = {
        "warmup": 1 / epochs,
        "relabel_epochs": 1,
    }  # one epoch on labels alone: an untrained network's outputs are all alike
    config = Config("cifar10", recipe=name, labels=4_000, epochs=epochs, device=device, overrides=overrides)
    record, lines = epochs_of(config)
    stages = {stage: [line["stage_seconds"][stage] for line in lines] for stage in lines[0]["stage_seconds"]}
    whole = [line["epoch_seconds"] for line in lines]
    match = [part / all_ for part, all_ in zip(stages["match"], whole, strict=True)]
    labelling = [(a + b) / c for a, b, c in zip(stages["match"], stages["outputs"], whole, strict=True)]
    fields = {
        "recipe": name,
        "model": record["model"],
        "labels": record["labels"],
        "pool": lines[0]["pool"],
        "epoch_steps": plan_of(config).recipe.epoch_steps,
        "precision": record["precision"],
        "stage_seconds": stages,
        "epoch_seconds": whole,
        "share_of_match": statistics.median(match),
        "share_of_labelling": statistics.median(labelling),
    }
    append("epoch.jsonl", "stages of an epoch", fields, pick_device(device))
    seconds = ", ".join(f"{stage} {statistics.median(values):.2f}" for stage, values in stages.items())
    print(f"{name}: an epoch takes {statistics.median(whole):.1f} s without judging ({seconds})")
    for what, share, most in (("match", match, MATCH), ("labelling", labelling, LABELLING)):
        found = statistics.median(share)
        print(f"  {what} {found:.1%} of it, {'under' if found < most else 'NOT under'} {most:.0%}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="auto")
    parser.add_argument("--epochs", type=int, default=5, help="at least 3")
    asked = parser.parse_args()
    for recipe in ("strong", "paper"):
        measure(recipe, max(asked.epochs, 3), asked.device)

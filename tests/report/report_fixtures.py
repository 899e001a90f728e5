"""Run folders and records as ``fewlabels train`` writes them, made without training."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from fewlabels.report.records import Record, parse_record
from fewlabels.report.statistics import wilson

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
TEST, VALIDATION = 10_000, 1_000


def packed(wrong: np.ndarray) -> str:
    return base64.b64encode(np.packbits(wrong).tobytes()).decode()


def make_tree(
    *,
    data: str = "cifar10",
    method: str = "rot",
    labels: int = 4000,
    seed: int = 0,
    error: float = 0.18,
    preset: str | None = "desk",
    reg: float = 0.25,
    alpha: float = 1.0,
    unlabeled: int = 41_000,
    steps: int = 1280,
    epochs: int = 20,
    classes: tuple[str, ...] = CLASSES,
) -> dict[str, Any]:
    """A record as its JSON object."""
    rng = np.random.default_rng(seed)
    wrong = round(error * TEST)
    validation = rng.random(VALIDATION) < error
    labeler = None if method == "supervised" else {"name": "Rot", "reg": reg, "clusters": None}
    curve = {key: [line.get(key) for line in make_lines(method, error, epochs, seed)] for key in CURVES}
    return {
        "schema_version": 1,
        "kind": "run",
        "data": data,
        "method": method,
        "recipe": "own",
        "labels": labels,
        "unlabeled": unlabeled,
        "seed": seed,
        "preset": preset,
        "model": "wrn-28-2",
        "budget": {"steps": steps, "minutes": None, "epochs": None, "images": None},
        "steps": steps,
        "images": steps * 192,
        "epochs": epochs,
        "test_error": wrong / TEST,
        "test_interval": list(wilson(wrong, TEST)),
        "test_counts": {"wrong": wrong, "total": TEST},
        "validation_error": float(validation.mean()),
        "validation_wrong": packed(validation),
        "validation_total": VALIDATION,
        "best_epoch": epochs - 2,
        "terminal": {"test_error": (wrong + 40) / TEST, "validation_error": float(validation.mean()) + 0.004},
        "classes": list(classes),
        "confusion": make_confusion(len(classes), wrong, rng),
        "curve": curve,
        "config": {
            "data": data,
            "method": method,
            "labels": labels,
            "seed": seed,
            "steps": steps,
            "model": "wrn-28-2",
            "preset": preset,
            "labeler": labeler,
            "terms": [],
            "recipe": {"name": "Recipe", "optimizer": "sgd", "learning_rate": 0.1, "alpha": alpha, "pool": 8192},
        },
        "seconds": 903.2 + seed,
        "images_per_second": 412.0,
        "device": "CPU, 2 threads",
        "precision": "float32",
        "world_size": 1,
        "versions": {"python": "3.11.7", "fewlabels": "0.1.0", "torch": "2.13.0"},
        "commit": "0123456789ab",
        "started": f"2026-11-{seed + 1:02d}T06:00:00+00:00",
    }


CURVES = ("epoch", "step", "loss", "validation_error", "transport_cost", "pseudo_label_accuracy", "classifier_accuracy")


def make_record(**fields: Any) -> Record:
    return parse_record(make_tree(**fields))


def make_lines(method: str, error: float, epochs: int, seed: int) -> list[dict[str, Any]]:
    """The epochs of a run whose error falls to ``error``; pseudo-labels begin after a warm-up."""
    rng = np.random.default_rng(1000 + seed)
    lines = []
    for epoch in range(1, epochs + 1):
        fall = float(np.exp(-4 * epoch / epochs))
        line: dict[str, Any] = {
            "epoch": epoch,
            "step": 64 * epoch,
            "images": 64 * 192,
            "loss": 0.3 + 2 * fall + 0.05 * rng.random(),
            "learning_rate": 0.1 * (1 - epoch / (epochs + 1)),
            "images_per_second": 400 + 20 * rng.random(),
            "stage_seconds": {"train": 40.0 + rng.random(), "evaluate": 1.5},
            "epoch_seconds": 43.0,
            "validation_error": error + 0.6 * fall + 0.01 * float(rng.random()),
            "seconds": 45.0 * epoch,
        }
        if method != "supervised" and epoch > epochs // 6:
            right = 0.9 - 0.5 * fall + 0.01 * float(rng.random())
            line |= {"pool": 8192, "kept": 8192, "transport_cost": 0.2 + 0.7 * fall, "collisions": 0}
            line |= {"pseudo_label_accuracy": right, "classifier_accuracy": right - 0.03, "empty_classes": 0}
            line |= {"labels_per_class": [800 + 10 * i for i in range(10)], "cluster_sizes": [819] * 10}
            line["stage_seconds"] |= {"outputs": 2.0, "match": 0.4}
        lines.append(line)
    return lines


def make_confusion(classes: int, wrong: int, rng: np.random.Generator) -> list[list[int]]:
    """A matrix with ``wrong`` of TEST beside its diagonal."""
    matrix = np.zeros((classes, classes), dtype=np.int64)
    np.fill_diagonal(matrix, (TEST - wrong) // classes)
    matrix[0, 0] += (TEST - wrong) % classes
    rows = rng.integers(0, classes, wrong)
    np.add.at(matrix, (rows, (rows + rng.integers(1, 4, wrong)) % classes), 1)
    return matrix.tolist()


def write_run(folder: Path, *, finished: bool = True, pictures: int = 120, tile: int = 32, **fields: Any) -> Path:
    """A run folder with everything the report may show."""
    folder.mkdir(parents=True)
    tree = make_tree(**fields)
    classes, seed, method = tuple(tree["classes"]), tree["seed"], tree["method"]
    rng = np.random.default_rng(seed)
    lines = make_lines(method, fields.get("error", 0.18), tree["epochs"], seed)
    lines = lines if finished else lines[: len(lines) // 2]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    asked = [f"{key} = {json.dumps(tree[key])}" for key in ("data", "method", "labels", "seed", "model")]
    toml = [*asked, f"steps = {tree['steps']}", "", "[overrides]", "reg = 0.25", 'unlabeled_views = ["strong"]']
    (folder / "config.toml").write_text("\n".join(toml) + "\n", encoding="utf-8")
    if not finished:
        return folder
    (folder / "record.json").write_text(json.dumps(tree), encoding="utf-8")
    if method != "supervised":
        write_labelling(folder, classes, pictures, tile, rng)
    return folder


def write_labelling(folder: Path, classes: tuple[str, ...], pictures: int, tile: int, rng: np.random.Generator) -> None:
    """The plan, the labels and the sheet of pictures."""
    c = len(classes)
    plan = 0.02 * rng.random((c, c)) + np.eye(c)
    plan /= plan.sum()
    tree = {"plan": plan.tolist(), "cost": (1.4 - np.eye(c)).tolist(), "classes": list(classes)}
    (folder / "plan.json").write_text(json.dumps(tree), encoding="utf-8")
    truth = rng.integers(0, c, 2000)
    label = np.where(rng.random(2000) < 0.85, truth, (truth + 1) % c)
    confidence = np.round(0.3 + 0.7 * rng.random(2000), 4)
    np.savez_compressed(folder / "pseudo_labels.npz", label=label, confidence=confidence, truth=truth)
    columns = 20
    sheet = np.zeros((-(-pictures // columns) * tile, columns * tile, 3), dtype=np.uint8)
    ramp = np.linspace(0, 1, tile)[:, None, None]
    for i in range(pictures):
        top, left = i // columns * tile, i % columns * tile
        first, second = rng.integers(0, 256, 3), rng.integers(0, 256, 3)
        noise = rng.normal(0, 25, (tile, tile, 3))
        sheet[top : top + tile, left : left + tile] = np.clip(first * ramp + second * (1 - ramp) + noise, 0, 255)
    Image.fromarray(sheet).save(folder / "gallery.png")
    items = [
        {"label": int(label[i]), "confidence": float(confidence[i]), "truth": int(truth[i]), "name": None}
        for i in range(pictures)
    ]
    listing = {"tile": [tile, tile], "columns": columns, "items": items}
    (folder / "gallery.json").write_text(json.dumps(listing), encoding="utf-8")

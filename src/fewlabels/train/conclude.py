"""The end of a run: the last weights and the best ones are judged, and the record says what came out."""

from __future__ import annotations

from typing import Any

from fewlabels.data.images import Source
from fewlabels.train.config import Config
from fewlabels.train.device import describe
from fewlabels.train.folder import RunFolder
from fewlabels.train.loop import Training, judge, predict_part
from fewlabels.train.record import SCHEMA_VERSION, curve, packed, request, test_fields


def model_name(config: Config, source: Source) -> str:
    """The network a request means by "auto": the small one for images under 16 pixels, else WRN-28-2."""
    if config.model != "auto":
        return config.model
    return "small" if min(source.shape[1:]) < 16 else "wrn-28-2"


def conclude(t: Training, folder: RunFolder, config: Config, source: Source) -> dict[str, Any]:
    """Judge the last weights and the best ones, which ``t.judged`` holds from then on; the record (Sec. 7)."""
    problem = t.problem
    lines = folder.read_metrics() if t.fabric.global_rank == 0 else []  # one rank writes them, and the record
    last_test = None if problem.test is None else predict_part(t, t.judged, problem.test)
    terminal_validation = lines[-1]["validation_error"] if lines else None
    if t.best is not None:
        t.judged.load_state_dict(t.best.weights)
    found: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "kind": "run",
        "data": source.name,
        "method": config.method,
        "recipe": config.recipe or "own",
        "labels": len(problem.split.labeled),
        "unlabeled": len(problem.split.unlabeled),
        "seed": config.seed,
        "preset": config.preset,
        "model": model_name(config, source),
        "budget": {
            "steps": t.clock.budget.steps,
            "minutes": t.clock.budget.minutes,
            "epochs": config.epochs,
            "images": None,
        },
        "steps": t.clock.step,
        "images": sum(line["images"] for line in lines),
        "epochs": t.epoch,
        "test_error": None,
        "validation_error": None if t.best is None else t.best.validation_error,
        "best_epoch": None if t.best is None else t.best.epoch,
        "terminal": {"test_error": None, "validation_error": terminal_validation},
        "classes": list(source.classes),
        "curve": curve(lines),
        "config": request(config, t.method),
        "seconds": t.clock.seconds,
        "images_per_second": _rate(lines),
        "device": describe(t.fabric.device),
        "world_size": t.fabric.world_size,
    }
    if t.best is not None and problem.validation is not None:
        mistakes = judge(t, t.judged, problem.validation)
        found |= {"validation_wrong": packed(mistakes), "validation_total": len(mistakes)}
    if problem.test is not None and last_test is not None:
        fields = test_fields(predict_part(t, t.judged, problem.test), last_test, problem.test.labels)
        found["terminal"]["test_error"] = fields.pop("terminal_test_error")
        found |= fields
        if t.best is None:  # nothing chose a best epoch: only the terminal error is one that may be reported
            found |= {"test_error": None, "test_interval": None, "test_counts": None}
    return found


def _rate(lines: list[dict[str, Any]]) -> float | None:
    """Images per second while training, over the whole run."""
    seconds = sum(line["stage_seconds"]["train"] for line in lines)
    return sum(line["images"] for line in lines) / seconds if seconds else None

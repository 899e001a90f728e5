"""Append what a benchmark measured to the records behind the numbers of the documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from fewlabels.train.device import describe
from fewlabels.train.provenance import provenance

RESULTS = Path(__file__).resolve().parents[1] / "results" / "bench"


def append(file: str, name: str, fields: dict[str, Any], device: str = "cpu") -> None:
    """One JSON line of kind "bench", with its provenance."""
    where = {"device": describe(torch.device(device)), "threads": torch.get_num_threads()}
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / file).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({"kind": "bench", "bench": name, **fields, **where, **provenance()}) + "\n")

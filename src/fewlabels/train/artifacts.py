"""What the last labelling leaves in a run's folder for the report: the plan, the labels, a sheet of pictures.

The sealed truth is opened here to say which labels are right; nothing is trained after it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8
from PIL import Image
from torch import Tensor

from fewlabels.data.images import UNKNOWN, Source
from fewlabels.train.folder import write_text
from fewlabels.train.loop import Training

PICTURES = 300
COLUMNS = 20
LONGEST = 48  # pixels of a picture's longer side


def save_labelling(t: Training, source: Source, folder: Path) -> None:
    """Write ``plan.json``, ``pseudo_labels.npz`` and, of the images that were trained on, a gallery."""
    assert t.labelled is not None
    found, problem = t.labelled, t.problem
    if (matching := found.pseudo.matching) is not None:
        tree = {
            "plan": matching.plan.matrix.tolist(),
            "cost": matching.cost_matrix.tolist(),
            "classes": list(source.classes),
        }
        write_text(folder / "plan.json", json.dumps(tree))
    rows = problem.split.unlabeled[found.positions]
    truth = problem.truth.open_for_metrics()[rows]
    labels = found.pseudo.labels.cpu()
    kept = found.pseudo.kept.cpu()
    np.savez_compressed(
        folder / "pseudo_labels.npz",
        label=labels.numpy(),
        confidence=found.confidence.numpy(),
        truth=truth.numpy(),
        kept=kept.numpy(),
    )
    if not kept.any():
        return
    there = kept.nonzero().flatten()
    shown = there[torch.linspace(0, len(there) - 1, min(PICTURES, len(there))).long()]
    sheet, tile = _sheet(source.train.pixels[rows[shown]])
    sheet.save(folder / "gallery.png", optimize=True)
    paths = source.train.paths
    items = [
        {
            "label": int(labels[i]),
            "confidence": round(float(found.confidence[i]), 4),
            "truth": None if truth[i] == UNKNOWN else int(truth[i]),
            "name": None if paths is None else paths[int(rows[i])],
        }
        for i in shown.tolist()
    ]
    listing = {"tile": list(tile), "columns": COLUMNS, "items": items}
    write_text(folder / "gallery.json", json.dumps(listing))


def _sheet(pixels: UInt8[Tensor, "n ch h w"]) -> tuple[Image.Image, tuple[int, int]]:
    """All pictures on one sheet, in rows, and the size of each."""
    height, width = pixels.shape[2:]
    scale = min(1.0, LONGEST / max(height, width))
    tile = (max(1, round(width * scale)), max(1, round(height * scale)))
    sheet = Image.new("RGB", (COLUMNS * tile[0], -(-len(pixels) // COLUMNS) * tile[1]))
    for i, picture in enumerate(pixels):
        image = _picture(picture).resize(tile, Image.Resampling.LANCZOS if scale < 1 else Image.Resampling.NEAREST)
        sheet.paste(image, (i % COLUMNS * tile[0], i // COLUMNS * tile[1]))
    return sheet, tile


def _picture(pixels: UInt8[Tensor, "ch h w"]) -> Image.Image:
    array = pixels.permute(1, 2, 0).numpy()
    return Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array[:, :, :3]).convert("RGB")

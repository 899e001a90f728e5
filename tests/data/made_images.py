"""Small images, folders, tables and archives to open."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.io import savemat

RED, GREEN, BLUE = (220, 30, 30), (30, 200, 30), (30, 30, 220)


def noise(seed: int, side: int = 8, channels: int = 3) -> np.ndarray:
    """Random bytes, H W C."""
    return np.random.default_rng(seed).integers(0, 256, (side, side, channels), dtype=np.uint8)


def save(path: Path, pixels: np.ndarray, **options: object) -> Path:
    """Write an image in the format its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.squeeze()).save(path, **options)
    return path


def image_folder(
    root: Path, *, classes: int = 2, each: int = 3, unlabeled: int = 4, side: int = 8, judges: int = 0
) -> Path:
    """A folder in our layout, every image another one; ``judges`` images a class in validation and in test."""
    seed = 0
    parts = {"labeled": each} | ({"validation": judges, "test": judges} if judges else {})
    for part, count in parts.items():
        for j in range(classes):
            for i in range(count):
                save(root / part / f"class{j}" / f"{i}.png", noise(seed := seed + 1, side))
    for i in range(unlabeled):
        save(root / "unlabeled" / f"{i}.png", noise(seed := seed + 1, side))
    return root


def table(file: Path, rows: list[tuple[str, ...]], columns: tuple[str, ...] = ("path", "label")) -> Path:
    """A CSV file; each path that does not exist becomes an image of its own."""
    file.parent.mkdir(parents=True, exist_ok=True)
    for i, row in enumerate(rows):
        if row and row[0] and not (file.parent / row[0]).exists():
            save(file.parent / row[0], noise(1000 + i))
    with file.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([columns, *rows])
    return file


def svhn_files(folder: Path, *, train: int = 40, test: int = 20, extra: int = 0, compressed: bool = False) -> Path:
    """The official files with random house numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", train), ("test", test), ("extra", extra)):
        if count:
            x = np.random.default_rng(count).integers(0, 256, (32, 32, 3, count), dtype=np.uint8)
            y = (np.arange(count, dtype=np.uint8) % 10 + 1)[:, None]
            savemat(folder / f"{name}_32x32.mat", {"X": x, "y": y}, do_compression=compressed)
    return folder

"""``cifar10``: 60,000 colour images of 32 x 32, in the official python or binary layout.

The python layout is pickles, and a pickle can name any function to call. These files are read with stand-ins for the
three NumPy names they use and nothing else, so that reading one runs no code of its own.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fewlabels.data.images import Images, Source
from fewlabels.data.sources.request import Request, find, keep_size
from fewlabels.errors import InputError

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SIDE, VALUES = 32, 3 * 32 * 32
BATCH = 10_000  # images a file
TRAIN = tuple(f"data_batch_{i}" for i in range(1, 6))
PYTHON = (*TRAIN, "test_batch")
BINARY = tuple(f"{name}.bin" for name in PYTHON)


def open_cifar10(request: Request) -> Source:
    """CIFAR-10 as the paper splits it: 45,000 to train with, 5,000 for validation, 10,000 for the test."""
    keep_size(request, SIDE)
    home = request.data_dir
    binary = next((f for f in (home, home / "cifar-10-batches-bin") if (f / BINARY[0]).is_file()), None)
    if binary is not None and not any((f / PYTHON[0]).is_file() for f in (home, home / "cifar-10-batches-py")):
        folder, ending = find("cifar10", [binary], BINARY), ".bin"
    else:
        folder, ending = find("cifar10", [home / "cifar-10-batches-py", home], PYTHON), ""
    return Source(
        name="cifar10",
        classes=CLASSES,
        train=_join([folder / f"{name}{ending}" for name in TRAIN]),
        test=_join([folder / f"test_batch{ending}"]),
        validation_size=5_000,
        default_labels=4_000,
        normalize="gcn",
        noise=0.15,
    )


def _join(files: list[Path]) -> Images:
    """One batch after the other into one tensor, so that no two copies of the data are held."""
    pixels = torch.empty(BATCH * len(files), 3, SIDE, SIDE, dtype=torch.uint8)
    labels = torch.empty(BATCH * len(files), dtype=torch.int64)
    for i, file in enumerate(files):
        rows, of_rows = _read_binary(file) if file.suffix == ".bin" else _read_pickle(file)
        here = slice(BATCH * i, BATCH * (i + 1))
        pixels.numpy()[here] = rows.reshape(-1, 3, SIDE, SIDE)
        labels.numpy()[here] = of_rows
    return Images(pixels, labels)


def _read_binary(file: Path) -> tuple[np.ndarray, np.ndarray]:
    records = np.fromfile(file, dtype=np.uint8)
    if len(records) != BATCH * (1 + VALUES):
        raise _damaged(file, f"it has {len(records)} bytes, and {BATCH} records have {BATCH * (1 + VALUES)}")
    records = records.reshape(-1, 1 + VALUES)
    return _checked(file, records[:, 1:], records[:, 0].astype(np.int64))


def _read_pickle(file: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        with file.open("rb") as stream:
            batch = _Unpickler(stream, encoding="bytes").load()
        rows, labels = batch[b"data"].values, np.asarray(batch[b"labels"], dtype=np.int64)
    except InputError:
        raise
    except Exception as error:  # a damaged pickle can raise nearly anything
        raise _damaged(file, f"{type(error).__name__}: {error}") from error
    return _checked(file, rows, labels)


def _checked(file: Path, rows: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if rows.shape != (BATCH, VALUES) or labels.shape != (BATCH,):
        raise _damaged(file, f"it holds data of shape {rows.shape} with labels of shape {labels.shape}")
    if labels.min() < 0 or labels.max() >= len(CLASSES):
        raise _damaged(file, f"its labels run from {labels.min()} to {labels.max()}, not within 0 .. 9")
    return rows, labels


def _damaged(file: Path, why: str) -> InputError:
    return InputError(f"{file} is not a CIFAR-10 batch: {why}. Delete it and run `fewlabels data fetch cifar10`")


class _Array:
    """What stands for a NumPy array: bytes and a shape, nothing that could be called."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, by_column, raw = state
        if kind.name not in (b"u1", "u1") or by_column or not isinstance(raw, bytes):
            raise ValueError("an array is not bytes in rows")
        self.values = np.frombuffer(raw, dtype=np.uint8).reshape(shape)


class _Kind:
    """What stands for a NumPy element type: its name."""

    def __init__(self, name: bytes | str, *_: object) -> None:
        self.name = name

    def __setstate__(self, state: object) -> None:
        """Byte order and alignment say nothing about bytes."""


def _reconstruct(*_: object) -> _Array:
    return _Array()


class _Unpickler(pickle.Unpickler):
    _allowed = {  # noqa: RUF012 - read only
        ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _Kind,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._allowed:
            raise InputError(
                f"a CIFAR-10 batch asks to run {module}.{name}, which no official batch does; nothing was run. "
                "Delete the folder and run `fewlabels data fetch cifar10`"
            )
        return self._allowed[module, name]

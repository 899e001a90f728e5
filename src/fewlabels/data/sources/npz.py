"""Arrays whose rows are read in order, a block at a time: in memory, or out of an ``.npz`` without unpacking it."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from fewlabels.errors import InputError

BLOCK = 1024  # rows


@dataclass(frozen=True)
class Member:
    """One array; ``whole`` where it is at hand already."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    blocks: Callable[[], Iterator[np.ndarray]]
    whole: np.ndarray | None = None

    def read(self) -> np.ndarray:
        """All rows."""
        return self.whole if self.whole is not None else np.concatenate([np.empty(0, self.dtype), *self.blocks()])


def of_array(name: str, array: np.ndarray) -> Member:
    """An array in memory, or a memory map.

    >>> [len(block) for block in of_array("x", np.zeros((1030, 8, 8))).blocks()]
    [1024, 6]
    """
    blocks = lambda: (array[i : i + BLOCK] for i in range(0, len(array), BLOCK))  # noqa: E731
    return Member(name, array.shape, array.dtype, blocks, array)


def members(file: Path) -> dict[str, Member]:
    """The arrays of an ``.npz`` by their names. Objects, which could run code, are refused."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = [info.filename for info in archive.infolist()]
        return {name.removesuffix(".npy"): _member(file, name) for name in names}
    except InputError:
        raise
    except Exception as error:  # a damaged archive can raise nearly anything
        raise _damaged(file, error) from error


def _member(file: Path, name: str) -> Member:
    with zipfile.ZipFile(file) as archive, archive.open(name) as stream:
        shape, by_column, dtype = _npy_header(stream)
        size, claimed = archive.getinfo(name).file_size - stream.tell(), math.prod(shape) * dtype.itemsize
        if dtype.hasobject:
            raise InputError(f"{file} holds Python objects in {name}: save numbers with numpy.savez")
        if size != claimed:
            raise ValueError(f"{name} has {size} bytes for an array of {claimed}")
        if by_column or not shape:
            return of_array(name.removesuffix(".npy"), _whole(file, name))
    return Member(name.removesuffix(".npy"), shape, dtype, lambda: _blocks(file, name))


def _blocks(file: Path, name: str) -> Iterator[np.ndarray]:
    try:
        with zipfile.ZipFile(file) as archive, archive.open(name) as stream:
            shape, _, dtype = _npy_header(stream)
            row = math.prod(shape[1:]) * dtype.itemsize
            for i in range(0, shape[0], BLOCK):
                count = min(BLOCK, shape[0] - i)
                yield np.frombuffer(stream.read(count * row), dtype).reshape(count, *shape[1:])
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise _damaged(file, error) from error


def _whole(file: Path, name: str) -> np.ndarray:
    with np.load(file, allow_pickle=False) as archive:
        array: np.ndarray = archive[name.removesuffix(".npy")]
        return array


def _npy_header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether it is stored by columns, element type."""
    read = npy.read_array_header_1_0 if npy.read_magic(stream) == (1, 0) else npy.read_array_header_2_0
    return read(stream)


def _damaged(file: Path, error: Exception) -> InputError:
    return InputError(f"{file} cannot be read as an .npz ({error}): save it again with numpy.savez")

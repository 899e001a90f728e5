"""Where pixels are kept: in memory, or in a memory map on disk when they would take more than a quarter of it."""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from fewlabels.errors import InputError

SHARE = 4  # images that take more than this part of the memory are mapped
CGROUP = Path("/sys/fs/cgroup/memory.max")  # where Linux says what a container may use


def room_for(count: int, shape: tuple[int, int, int], folder: Path) -> UInt8[Tensor, "n c h w"]:
    """A tensor to be filled with ``count`` images; a large one is a nameless file under ``folder``, gone when unused.

    >>> room_for(2, (3, 4, 4), Path("unused")).shape
    torch.Size([2, 3, 4, 4])
    """
    if not is_large(count * math.prod(shape)):
        return torch.empty(count, *shape, dtype=torch.uint8)
    return _mapped((count, *shape), folder)


def is_large(size: int) -> bool:
    """Whether ``size`` bytes are more than a quarter of the memory."""
    return size > memory() // SHARE


def memory() -> int:
    """The bytes this process may count on: the machine's memory, or a container's limit where that is less."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = CGROUP.read_text(encoding="ascii").strip() if CGROUP.is_file() else "max"
    return machine if limit == "max" else min(machine, int(limit))


def _mapped(shape: tuple[int, int, int, int], folder: Path) -> UInt8[Tensor, "n c h w"]:
    size = math.prod(shape)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            _reserve(file.fileno(), size)
            return torch.from_numpy(np.memmap(file, dtype=np.uint8, mode="r+", shape=shape))
    except OSError as error:
        raise InputError(
            f"{size / 1e9:.1f} GB of images are too large for the memory and could not be laid out under {folder}: "
            f"{error}. Free some space, or choose another folder with --data-dir"
        ) from error


def _reserve(file: int, size: int) -> None:
    """Take the space now: a map that meets a full disk later ends the process without a word."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.ftruncate(file, size)

"""Arrays: ``x``, ``y`` and optionally ``x_val y_val x_test y_test classes``, in an ``.npz`` or from Python.

Images are uint8, or floats in [0, 1] that become the nearest of 256 levels. ``N H W`` is grey; of ``N C H W`` and
``N H W C``, the shorter of the two outer axes is the channels. Labels are 0 .. c - 1, and -1 where nobody knows.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from fewlabels.data.images import UNKNOWN, Images, Source
from fewlabels.data.memory import is_large, room_for
from fewlabels.data.sources.npz import Member, members, of_array
from fewlabels.data.sources.request import Request
from fewlabels.errors import InputError

Array: TypeAlias = np.ndarray | Tensor
Arrays: TypeAlias = Array | tuple[Array, Array] | Mapping[str, Array | Sequence[str]]

PAIRS = {"train": ("x", "y"), "validation": ("x_val", "y_val"), "test": ("x_test", "y_test")}
NAMES = (*(name for pair in PAIRS.values() for name in pair), "classes")


def open_arrays(data: Path | Arrays, request: Request) -> Source:
    """A source of arrays. They are copied, except uint8 ones that are large: a memory map stays one."""
    if request.size is not None:
        raise InputError(f"size {request.size} was asked for, but arrays are never resized: leave the size out")
    found = read_members(data)
    parts = {part: _part(found, *pair, request.data_dir) for part, pair in PAIRS.items()}
    train = parts["train"]
    if train is None:
        raise InputError("there is no array 'x': give images as 'x' and their labels as 'y'")
    classes = _classes(found, train.labels)
    for part, (x, y) in PAIRS.items():
        if part != "train":
            _check_judges(parts[part], train, len(classes), x, y)
    return Source(
        name=data.stem if isinstance(data, Path) else "arrays",
        classes=classes,
        train=train,
        validation=parts["validation"],
        test=parts["test"],
        flip=request.flip is not False,
    )


def read_members(data: Path | Arrays) -> dict[str, Member]:
    """What an ``.npz``, a mapping, a pair ``(x, y)`` or a single ``x`` holds, by name."""
    if isinstance(data, Path):
        found = members(data)
    elif isinstance(data, Mapping):
        found = {name: of_array(name, _numpy(array)) for name, array in data.items()}
    elif isinstance(data, tuple):
        found = {name: of_array(name, _numpy(array)) for name, array in zip(("x", "y"), data, strict=True)}
    else:
        found = {"x": of_array("x", _numpy(data))}
    for name in found:
        if name not in NAMES:
            close = difflib.get_close_matches(name, NAMES, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"the names are {', '.join(NAMES)}"
            raise InputError(f"an array is called {name!r}, which means nothing here: {hint}")
    return found


def read_images(member: Member, folder: Path, shape: tuple[int, int, int] | None = None) -> UInt8[Tensor, "n c h w"]:
    """An array's images; where ``shape`` is known, it tells the channels' place."""
    axes = _axes(member, shape)
    if member.whole is not None and member.dtype == np.uint8 and is_large(member.whole.nbytes):
        return _shared(_first(member.whole, axes))
    pixels = room_for(member.shape[0], _first(np.broadcast_to(np.uint8(0), member.shape), axes).shape[1:], folder)
    rows, at = pixels.numpy(), 0
    for block in member.blocks():
        rows[at : at + len(block)] = _first(_levels(member.name, block, at), axes)
        at += len(block)
    return pixels


def _part(found: Mapping[str, Member], x: str, y: str, folder: Path) -> Images | None:
    if x not in found and y not in found:
        return None
    for name, other in ((x, y), (y, x)):
        if name not in found:
            raise InputError(f"there is {other!r} without {name!r}: give both, one label an image (-1: unlabelled)")
    if not found[x].shape or not found[x].shape[0]:
        raise InputError(f"{x} has no image: give at least one, or leave it out")
    labels = _labels(found[y])
    if len(labels) != found[x].shape[0]:
        raise InputError(f"{x} has {found[x].shape[0]} images and {y} {len(labels)} labels: give one label an image")
    return Images(read_images(found[x], folder), labels)


def _labels(member: Member) -> Int[Tensor, " n"]:
    if len(member.shape) != 1 or member.dtype.kind not in "iu":
        raise InputError(
            f"{member.name} is {member.dtype} of shape {member.shape}: labels are one whole number an image, "
            "0 .. c - 1, or -1 for unlabelled"
        )
    labels = torch.from_numpy(member.read().astype(np.int64))
    if len(labels) and int(labels.min()) < UNKNOWN:
        row = int(labels.argmin())
        raise InputError(f"{member.name} has label {int(labels[row])} for image {row}: labels are 0 .. c - 1, or -1")
    return labels


def _classes(found: Mapping[str, Member], labels: Int[Tensor, " n"]) -> tuple[str, ...]:
    known = labels[labels != UNKNOWN]
    if not len(known):
        raise InputError("y is -1 everywhere: label a few images of at least two classes")
    highest = int(known.max())
    if highest >= len(known):
        raise InputError(
            f"y runs to {highest} with {len(known)} labelled images: labels are 0 .. c - 1, and each class has at "
            "least one; number them without gaps"
        )
    names = tuple(map(str, range(highest + 1)))
    if "classes" in found:
        names = _class_names(found["classes"])
    if len(set(names)) != len(names) or highest >= len(names):
        raise InputError(
            f"classes names {len(set(names))} classes and y runs to {highest}: give one name each, in order"
        )
    if len(names) < 2:
        raise InputError("y has one class, 0: a classifier tells classes apart; label some of another")
    counts = known.bincount(minlength=len(names))
    if (counts == 0).any():
        empty = int((counts == 0).nonzero()[0])
        raise InputError(f"class {empty} of 0 .. {len(names) - 1} has no labelled image in y: number them without gaps")
    return names


def _class_names(member: Member) -> tuple[str, ...]:
    if len(member.shape) != 1 or member.dtype.kind not in "USiu":
        raise InputError(f"classes is {member.dtype} of shape {member.shape}: give a list of names, one a class")
    return tuple(name.decode() if isinstance(name, bytes) else str(name) for name in member.read().tolist())


def _check_judges(part: Images | None, train: Images, classes: int, x: str, y: str) -> None:
    if part is None:
        return
    outside = (part.labels < 0) | (part.labels >= classes)
    if outside.any():
        row = int(outside.nonzero()[0])
        raise InputError(
            f"{y} has label {int(part.labels[row])} for image {row}, and y has the classes 0 .. {classes - 1}: "
            "every image that judges needs one of these"
        )
    if part.pixels.shape[1:] != train.pixels.shape[1:]:
        ours, theirs = tuple(part.pixels.shape[1:]), tuple(train.pixels.shape[1:])
        raise InputError(f"{x} has images of {ours} and x of {theirs} (channels, height, width): give one shape")


def _axes(member: Member, shape: tuple[int, int, int] | None) -> str:
    """``NHW``, ``NCHW`` or ``NHWC``."""
    got = member.shape
    if len(got) == 3:
        return "NHW"
    if len(got) == 4 and shape is not None and got[1:] == shape:
        return "NCHW"
    if len(got) == 4 and got[1] != got[3]:
        return "NCHW" if got[1] < got[3] else "NHWC"
    raise InputError(
        f"{member.name} has shape {got}: give N H W, N C H W or N H W C, where the channels are fewer than the pixels "
        "of a side"
    )


def _first(array: np.ndarray, axes: str) -> np.ndarray:
    """The same with the channels first."""
    if axes == "NHW":
        return array[:, None]
    return array if axes == "NCHW" else array.transpose(0, 3, 1, 2)


def _levels(name: str, block: np.ndarray, start: int) -> np.ndarray:
    """0 .. 255 as they are, floats in [0, 1] rounded to the nearest level."""
    if block.dtype == np.uint8:
        return block
    if block.dtype.kind != "f":
        raise InputError(f"{name} is {block.dtype}: give uint8 from 0 to 255, or floats from 0 to 1")
    broken = ~np.isfinite(block).reshape(len(block), -1).all(1)
    if broken.any():
        raise InputError(f"{name} has values that are not numbers in image {start + int(broken.argmax())}: repair it")
    if block.min() < 0 or block.max() > 1:
        raise InputError(
            f"{name} has floats from {block.min():g} to {block.max():g} in images {start} .. {start + len(block) - 1}: "
            "scale them to 0 .. 1, or give uint8"
        )
    return np.rint(block * 255).astype(np.uint8)


def _numpy(array: Any) -> np.ndarray:
    if isinstance(array, Tensor):
        array = array.detach().cpu()
        return (array.float() if array.dtype == torch.bfloat16 else array).numpy()
    return np.asarray(array) if not isinstance(array, np.ndarray) else array


def _shared(array: np.ndarray) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a read-only map is fine: nothing here writes to it
        return torch.from_numpy(array)

"""From a list of image files to a source: what folders and tables have in common."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from fewlabels.data.decode import ENDINGS, decode, headers, is_image
from fewlabels.data.images import UNKNOWN, Images, Source
from fewlabels.data.memory import room_for
from fewlabels.data.sources.request import Request
from fewlabels.errors import InputError

PARTS = ("train", "validation", "test")
SIDE = 32  # where no size is asked for and the images do not all have one
LARGEST = 64  # images that all have one size up to this keep it
DROPPINGS = ("thumbs.db", "desktop.ini")  # what a file manager leaves behind


@dataclass(frozen=True)
class Entry:
    """One image file and what is known about it."""

    path: Path
    label: str  # "" where nobody knows
    part: str = "train"


def source_of_files(name: str, entries: Sequence[Entry], request: Request) -> Source:
    """Check, decode, and put together."""
    classes = class_order({entry.label for entry in entries} - {""})
    _check_classes(name, entries, classes)
    entries = sorted(entries, key=lambda entry: PARTS.index(entry.part))
    paths = [entry.path for entry in entries]
    pixels = room_for(len(paths), _shape(paths, request.size), request.data_dir)
    _check_copies(entries, decode(paths, pixels))
    numbers = {"": UNKNOWN} | {label: i for i, label in enumerate(classes)}
    labels = torch.tensor([numbers[entry.label] for entry in entries])
    parts, start = {}, 0
    for part in PARTS:
        stop = start + sum(entry.part == part for entry in entries)
        parts[part] = Images(pixels[start:stop], labels[start:stop], tuple(map(str, paths[start:stop])))
        start = stop
    return Source(
        name=name,
        classes=classes,
        train=parts["train"],
        validation=parts["validation"] if len(parts["validation"]) else None,
        test=parts["test"] if len(parts["test"]) else None,
        flip=request.flip is not False,
    )


def images_under(folder: Path) -> Iterator[Path]:
    """All images of a folder at any depth, by name; hidden files are passed over, others refused.

    Links are followed, each folder once.
    """
    seen: set[str] = set()
    for at, inner, files in os.walk(folder, onerror=_unreadable, followlinks=True):
        seen.add(os.path.realpath(at))
        inner[:] = sorted(
            name for name in inner if not name.startswith(".") and os.path.realpath(os.path.join(at, name)) not in seen
        )
        for name in sorted(files):
            if name.startswith(".") or name.lower() in DROPPINGS:
                continue
            yield checked_type(Path(at, name))


def checked_type(path: Path) -> Path:
    """The path, if its name ends as an image's."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"the name of {str(path)!r} is not UTF-8: rename it") from None
    if not is_image(path):
        raise InputError(f"{path} is not an image: {', '.join(ENDINGS)} are read; convert it or move it away")
    if path.exists() and not path.is_file():  # reading a pipe would wait for ever
        raise InputError(f"{path} is not a file: replace it or move it away")
    return path


def class_order(names: Iterable[str]) -> tuple[str, ...]:
    """Numbers first, by their value; then other names by the alphabet.

    >>> class_order({"10", "dog", "2", "cat"})
    ('2', '10', 'cat', 'dog')
    """
    return tuple(sorted(names, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name)))


def _shape(paths: Sequence[Path], size: int | None) -> tuple[int, int, int]:
    """Channels, height and width for all: one channel if all are grey; the stated rule for the size."""
    found = headers(paths)
    channels = 1 if all(header.grey for header in found) else 3
    sizes = {(header.height, header.width) for header in found}
    if size is not None:
        return channels, size, size
    if len(sizes) == 1 and max(next(iter(sizes))) <= LARGEST:
        return channels, *next(iter(sizes))
    return channels, SIDE, SIDE


def _check_classes(name: str, entries: Sequence[Entry], classes: Sequence[str]) -> None:
    labelled = {entry.label for entry in entries if entry.part == "train" and entry.label}
    if not labelled:
        raise InputError(f"{name} has no labelled image: label a few of at least two classes")
    if len(labelled) < 2:
        raise InputError(
            f"{name} has labelled images of one class, {labelled.pop()!r}: a classifier tells classes apart; "
            "label some of another"
        )
    for entry in entries:
        if entry.label and entry.label not in labelled:
            raise InputError(
                f"{entry.path} of the {entry.part} part is of class {entry.label!r}, which has no labelled image to "
                "train with: label at least one, or leave the class out"
            )


def _check_copies(entries: Sequence[Entry], digests: Sequence[bytes]) -> None:
    """Refuse a file that stands in two places which say different things."""
    first: dict[bytes, Entry] = {}
    copies = []
    for entry, digest in zip(entries, digests, strict=True):
        other = first.setdefault(digest, entry)
        if (other.part, other.label) != (entry.part, entry.label):
            copies.append((other, entry))
    if copies:
        other, entry = copies[0]
        more = f" (and {len(copies) - 1} more like this)" if len(copies) > 1 else ""
        raise InputError(
            f"{entry.path} ({_place(entry)}) is the same image as {other.path} ({_place(other)}){more}: "
            "keep one of them"
        )


def _place(entry: Entry) -> str:
    what = f"labelled {entry.label!r}" if entry.label else "unlabelled"
    return what if entry.part == "train" else f"{entry.part}, {what}"


def _unreadable(error: OSError) -> None:
    raise InputError(f"{error.filename} cannot be read: {error.strerror}; make it readable or move it away")

"""A folder of images: ``labeled/<class>/``, ``unlabeled/``, and maybe ``validation/<class>/`` and ``test/<class>/``."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from fewlabels.data.decode import is_image
from fewlabels.data.images import Source
from fewlabels.data.sources.files import Entry, images_under, source_of_files
from fewlabels.data.sources.request import Request
from fewlabels.errors import InputError

LABELED = {"labeled": "train", "validation": "validation", "test": "test"}
PLACES = (*LABELED, "unlabeled")
LAYOUT = "labeled/<class>/, unlabeled/ and optionally validation/<class>/ and test/<class>/"


def open_folder(root: Path, request: Request) -> Source:
    """Every class is a folder's name; a mirrored image keeps its class unless the request says otherwise."""
    _check_layout(root)
    entries = [entry for place, part in LABELED.items() for entry in _labeled(root / place, part)]
    if (root / "unlabeled").is_dir():
        entries += [Entry(path, "") for path in _some(root / "unlabeled")]
    return source_of_files(root.resolve().name, entries, request)


def _labeled(folder: Path, part: str) -> Iterator[Entry]:
    if not folder.is_dir():
        return
    visible = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    for path in visible:
        if path.is_file() and is_image(path):
            raise InputError(f"{path} is in no class: move it into {folder.name}/<class>/")
    classes = [path for path in visible if path.is_dir()]
    if not classes:
        raise InputError(f"{folder} is empty: add {folder.name}/<class>/ folders with images, or remove it")
    for path in classes:
        for image in _some(path):
            yield Entry(image, path.name, part)


def _some(folder: Path) -> list[Path]:
    images = list(images_under(folder))
    if not images:
        raise InputError(f"{folder} has no image: add at least one, or remove the folder")
    return images


def _check_layout(root: Path) -> None:
    visible = sorted(path for path in root.iterdir() if not path.name.startswith("."))
    if not visible:
        raise InputError(f"{root} is empty: a folder of images holds {LAYOUT}")
    for path in visible:
        if path.is_dir() and path.name not in PLACES:
            close = difflib.get_close_matches(path.name, PLACES, n=1, cutoff=0.5)
            close += [place for place in PLACES if place.startswith(path.name.lower())]  # val, say
            remedy = f"did you mean {close[0]}/?" if close else "rename it or move it away"
            raise InputError(f"{path} is not part of a folder of images, which holds {LAYOUT}: {remedy}")
        if path.is_file() and path.name in PLACES:
            raise InputError(f"{path} is a file, and a folder of images holds {LAYOUT}: rename it or move it away")
        if path.is_file() and is_image(path):
            raise InputError(f"{path} is in no part of {root}: move it into unlabeled/ or labeled/<class>/")
    if not (root / "labeled").is_dir():
        raise InputError(f"{root} has no labeled/ folder: a folder of images holds {LAYOUT}")

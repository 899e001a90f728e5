"""What is asked of a source, and where data sets live."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fewlabels.errors import InputError


@dataclass(frozen=True)
class Request:
    """One call of ``open_source``: what every kind of source is given."""

    spec: object  # a name, a path, or arrays
    data_dir: Path
    size: int | None = None  # the side images are resized to; None: 32, or the side all of them have
    extra_unlabeled: int | None = None  # how many of svhn-extra's additional images; None: all
    flip: bool | None = None  # whether a mirrored image keeps its class; None: the source's own answer


def data_home(data_dir: str | Path | None = None) -> Path:
    """Where data sets live: ``data_dir``, else ``FEWLABELS_DATA``, else the user's cache folder.

    >>> data_home("somewhere").as_posix()
    'somewhere'
    """
    if data_dir is not None:
        return Path(data_dir).expanduser()
    if os.environ.get("FEWLABELS_DATA"):
        return Path(os.environ["FEWLABELS_DATA"]).expanduser()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("fewlabels", appauthor=False))


def find(name: str, folders: Iterable[Path], files: Iterable[str]) -> Path:
    """The first of ``folders`` that holds all ``files``; ``name`` is what ``fewlabels data fetch`` would download."""
    folders, files = list(folders), list(files)
    for folder in folders:
        if all((folder / file).is_file() for file in files):
            return folder
    looked = ", ".join(f"{folder} ({_missing(folder, files)})" for folder in folders)
    raise InputError(
        f"{name} is not here; looked in {looked}. "
        f"Run `fewlabels data fetch {name}`, or say where it is with --data-dir or FEWLABELS_DATA"
    )


def _missing(folder: Path, files: list[str]) -> str:
    if not folder.is_dir():
        return "no such folder"
    missing = [file for file in files if not (folder / file).is_file()]
    return f"without {missing[0]}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")


def keep_size(request: Request, side: int) -> None:
    """Refuse another size than the one a data set has."""
    if request.size not in (None, side):
        raise InputError(
            f"size {request.size} was asked for, but {request.spec} has images of {side} x {side} and is never "
            "resized: leave the size out"
        )

"""Where images come from: every source gives a ``Source``, whose training images are one uint8 tensor ``N C H W``."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from fewlabels.data.images import Source
from fewlabels.data.sources.arrays import Arrays, open_arrays
from fewlabels.data.sources.cifar10 import open_cifar10
from fewlabels.data.sources.digits import open_digits
from fewlabels.data.sources.folder import open_folder
from fewlabels.data.sources.pixels import read_pixels
from fewlabels.data.sources.request import Request, data_home
from fewlabels.data.sources.svhn import open_svhn, open_svhn_extra
from fewlabels.data.sources.table import open_table
from fewlabels.errors import InputError

__all__ = ["FILES", "NAMED", "Data", "open_source", "read_pixels"]

# A name, a folder, a .csv or .npz file; or arrays: {"x": ..., "y": ...}, (x, y), and a lone x where nothing is learned.
Data: TypeAlias = str | Path | Arrays

NAMED: dict[str, Callable[[Request], Source]] = {
    "digits": open_digits,
    "cifar10": open_cifar10,
    "svhn": open_svhn,
    "svhn-extra": open_svhn_extra,
}
FILES: dict[str, Callable[[Path, Request], Source]] = {".csv": open_table, ".npz": open_arrays}


def open_source(
    spec: Data,
    *,
    data_dir: str | Path | None = None,
    size: int | None = None,
    extra_unlabeled: int | None = None,
    flip: bool | None = None,
) -> Source:
    """Open a data set: a name, a folder, a CSV table, an ``.npz``, or arrays.

    ``size`` is the side images of a folder or a table are resized to, ``flip=False`` says that a mirrored image of
    one's own is not the same thing any more, and ``extra_unlabeled`` takes only so many of svhn-extra's.

    >>> source = open_source("digits")
    >>> source.name, source.shape, len(source.train), len(source.test)
    ('digits', (1, 8, 8), 1437, 360)
    >>> import torch
    >>> x, y = torch.zeros(3, 28, 28, dtype=torch.uint8), torch.tensor([0, 1, -1])
    >>> open_source({"x": x, "y": y}).classes
    ('0', '1')
    """
    request = Request(spec, data_home(data_dir), size, extra_unlabeled, flip)
    if size is not None and size < 1:
        raise InputError(f"size {size} was asked for: the side of an image is at least 1 pixel")
    if extra_unlabeled is not None and not (isinstance(spec, str) and spec == "svhn-extra"):
        raise InputError("extra_unlabeled says how many of svhn-extra's images to use: leave it out for other data")
    if not isinstance(spec, str | Path):
        return open_arrays(spec, request)
    if spec in NAMED:
        if flip is not None:
            raise InputError(f"whether {spec} may be mirrored is fixed: leave flip out")
        return NAMED[str(spec)](request)
    path = Path(spec).expanduser()
    if path.is_dir():
        return open_folder(path, request)
    if not path.is_file():
        raise _nothing(spec)
    if path.suffix.lower() not in FILES:
        raise InputError(f"{path} is neither a folder, a .csv table nor an .npz of arrays: give one of these")
    return FILES[path.suffix.lower()](path, request)


def _nothing(spec: str | Path) -> InputError:
    close = difflib.get_close_matches(str(spec).lower(), NAMED, n=1)
    hint = f"did you mean {close[0]}?" if close else f"give a path that exists, or one of {', '.join(NAMED)}"
    return InputError(f"there is no data set, folder or file {str(spec)!r}: {hint}")

"""Where images come from: every source gives a ``Source``, whose training images are one uint8 tensor ``N C H W``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fewlabels.data.images import Source
from fewlabels.data.sources.cifar10 import open_cifar10
from fewlabels.data.sources.digits import open_digits
from fewlabels.data.sources.request import Request, data_home
from fewlabels.data.sources.svhn import open_svhn, open_svhn_extra
from fewlabels.errors import InputError

NAMED: dict[str, Callable[[Request], Source]] = {
    "digits": open_digits,
    "cifar10": open_cifar10,
    "svhn": open_svhn,
    "svhn-extra": open_svhn_extra,
}


def open_source(
    spec: object,
    *,
    data_dir: str | Path | None = None,
    size: int | None = None,
    extra_unlabeled: int | None = None,
) -> Source:
    """Open the data set called ``spec``.

    >>> source = open_source("digits")
    >>> source.name, source.shape, len(source.train), len(source.test)
    ('digits', (1, 8, 8), 1437, 360)
    """
    request = Request(spec, data_home(data_dir), size, extra_unlabeled)
    if isinstance(spec, str) and spec in NAMED:
        return NAMED[spec](request)
    raise InputError(f"no data set is called {spec!r}: choose one of {', '.join(NAMED)}")

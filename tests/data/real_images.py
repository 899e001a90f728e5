"""Tests on real CIFAR-10 and SVHN skip where these are not."""

from __future__ import annotations

from functools import cache

import pytest

from fewlabels.data.images import Source
from fewlabels.data.sources import open_source
from fewlabels.data.sources.request import data_home

FILES = {"cifar10": "cifar-10-batches-py/data_batch_1", "svhn": "svhn/train_32x32.mat"}


def real(name: str) -> Source:
    """The real data set, opened once."""
    home = data_home()
    if not (home / FILES[name]).is_file():
        pytest.skip(f"{name} is not under {home}: set FEWLABELS_DATA, or run `fewlabels data fetch {name}`")
    return _open(name)


@cache
def _open(name: str) -> Source:
    return open_source(name)

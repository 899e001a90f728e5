"""Data that few people have: what needs it is left out and said so, instead of failing a whole figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fewlabels.data.sources import open_source
from fewlabels.data.sources.request import data_home, find
from fewlabels.data.sources.svhn import EXTRA, TEST, TRAIN
from fewlabels.errors import InputError
from fewlabels.train.config import Config


@dataclass(frozen=True)
class LeftOut:
    """Runs that cannot be made here."""

    data: str
    runs: int
    why: str

    def __str__(self) -> str:
        return f"{self.runs} runs with the additional images of SVHN are left out: {self.why}"


def present(configs: Sequence[Config], data_dir: str | None) -> tuple[list[Config], tuple[LeftOut, ...]]:
    """The runs but those of svhn-extra where its files are not here, and what is left out.

    >>> present([Config("digits", labels=100)], None)[1]
    ()
    """
    there = [config for config in configs if config.data != "svhn-extra"]
    if len(there) == len(configs):
        return there, ()
    home = data_home(data_dir)
    try:
        find("svhn-extra", (home / "svhn", home), (TRAIN, TEST, EXTRA))
    except InputError as error:
        return there, (LeftOut("svhn-extra", len(configs) - len(there), str(error)),)
    return list(configs), ()


def not_here(configs: Sequence[Config], data_dir: str | None) -> tuple[str, ...]:
    """A sentence for each data set that cannot be opened: each run would say it, one after the other."""
    told = []
    for name in dict.fromkeys(config.data for config in configs):
        try:
            open_source(name, data_dir=data_dir)
        except InputError as error:
            told.append(str(error))
    return tuple(told)

"""An experiment of the paper as plain data: which runs it is made of, and what is drawn from their records."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fewlabels.errors import InputError
from fewlabels.experiments.absent import LeftOut
from fewlabels.experiments.identity import key
from fewlabels.experiments.presets import Preset
from fewlabels.report.records import Record
from fewlabels.report.tables import Table
from fewlabels.train.config import Config, nearest
from fewlabels.train.folder import write_text


@dataclass(frozen=True)
class Drawing:
    """What an experiment draws from: the records of its runs, all of one preset, and the folder it draws into."""

    name: str
    title: str
    records: tuple[Record, ...]
    cells: tuple[Config, ...]  # one seed of each, in the paper's order
    preset: Preset
    out: Path
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A table or a figure. ``asks`` says what is varied; a preset adds how much of everything there is."""

    name: str
    title: str
    asks: tuple[Config, ...]
    table: Callable[[Drawing], Table] | None = None
    figure: Callable[[Drawing], tuple[Path, ...]] | None = None  # where there is no table
    needs: tuple[str, ...] = ()  # packages that only drawing imports

    def draw(self, drawing: Drawing) -> tuple[Path, ...]:
        """The files that show it: a table in its three forms, or a figure."""
        if self.figure is not None:
            return self.figure(drawing)
        assert self.table is not None
        return _write(self.table(drawing), drawing.out / drawing.name)


def _write(table: Table, path: Path) -> tuple[Path, ...]:
    forms = {"md": table.to_markdown(), "tex": table.to_latex(), "csv": table.to_csv()}
    paths = {form: path.with_name(f"{path.name}.{form}") for form in forms}
    for form, text in forms.items():
        write_text(paths[form], text)
    return tuple(paths.values())


def check_needs(experiment: Experiment) -> None:
    """Say what is missing before hours are spent, not after."""
    for package in experiment.needs:
        if importlib.util.find_spec(package) is None:
            raise InputError(
                f"{experiment.name} is drawn with {package}, which is not installed: pip install 'fewlabels[figures]'"
            )


def cells(
    experiment: Experiment,
    preset: Preset,
    *,
    seeds: Sequence[int] | None = None,
    methods: Sequence[str] | None = None,
    data: str | None = None,
) -> tuple[Config, ...]:
    """The runs of an experiment, seed by seed, without repeats; ``seeds`` stand for the preset's own.

    Every cell has its first seed before any has its second, so an interrupted table is a whole one of fewer seeds.
    """
    asks = [ask for ask in experiment.asks if _wanted(ask, methods, data)]
    _check(experiment, methods, data, asks)
    drawn: dict[str, Config] = {}
    for seed in preset.seeds if seeds is None else seeds:
        for ask in asks:
            config = dataclasses.replace(preset.apply(ask), seed=seed, preset=preset.name)
            drawn.setdefault(key(config), config)
    return tuple(drawn.values())


def _wanted(ask: Config, methods: Sequence[str] | None, data: str | None) -> bool:
    return (methods is None or ask.method in methods) and (data is None or _family(ask) == data)


def _family(ask: Config) -> str:
    """``svhn-extra`` is asked for as ``svhn``: it is the same data with more unlabelled images."""
    return ask.data.removesuffix("-extra")


def _check(experiment: Experiment, methods: Sequence[str] | None, data: str | None, asks: Sequence[Config]) -> None:
    there = {ask.method for ask in experiment.asks}
    for method in methods or ():
        if method not in there:
            raise InputError(f"{experiment.name} has no method {method!r}.{nearest(method, there)}")
    sets = {_family(ask) for ask in experiment.asks}
    if data is not None and data not in sets:
        raise InputError(f"{experiment.name} has no data set {data!r}.{nearest(data, sets)}")
    if not asks:
        raise InputError(f"{experiment.name} has no run of {', '.join(methods or ())} on {data}: ask for less at once")

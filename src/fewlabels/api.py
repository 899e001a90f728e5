"""The Python face of the command line: ``fit``, ``resume`` and ``load``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from fewlabels.data.images import Source
from fewlabels.data.sources import Data, open_source, read_pixels
from fewlabels.errors import InputError
from fewlabels.train import run as runs
from fewlabels.train.config import Config, Value, from_toml, frozen
from fewlabels.train.folder import RunFolder, free_name
from fewlabels.train.run import Listener, silent
from fewlabels.train.weights import Classifier, load_classifier


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, its record, its network."""

    folder: Path
    record: dict[str, Any]
    classifier: Classifier = field(repr=False)

    @property
    def test_error(self) -> float | None:
        """A fraction, at the lowest validation error; None without a test or a validation part."""
        error: float | None = self.record["test_error"]
        return error

    @property
    def model(self) -> nn.Module:
        """The trained network."""
        return self.classifier.network

    def predict_proba(self, images: Data) -> torch.Tensor:
        """One probability a class for each image: a folder, a file, or arrays."""
        return self.classifier.probabilities(read_pixels(images, shape=self.classifier.shape).pixels)

    def predict(self, images: Data) -> list[str]:
        """The name of the likeliest class of each image."""
        return [self.classifier.classes[i] for i in self.predict_proba(images).argmax(1).tolist()]


def fit(
    data: Data,
    *,
    method: str = "rot",
    labels: int | None = None,
    model: str | nn.Module = "auto",
    epochs: int | None = None,
    steps: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    listener: Listener = silent,
    **settings: Value | list[Any],
) -> Run:
    """Train a classifier from a few labels and many unlabelled images: all of ``fewlabels train``, from Python.

    ``data`` is what the command line takes (a name, a folder, a table, an ``.npz``), or arrays. ``settings`` are the
    other options of the command line and the fields of the recipe and of the labeler, by their Python names; a misspelt
    one is an error. Without ``out`` the run's folder is a new one under ``runs/``.

    >>> import tempfile
    >>> out = tempfile.mkdtemp() + "/run"
    >>> run = fit("digits", method="supervised", labels=100, steps=2, out=out)
    >>> run.folder.name, run.record["steps"]
    ('run', 2)
    """
    known = {f.name for f in dataclasses.fields(Config)} - {"data", "overrides"}
    config = Config(
        data=data if isinstance(data, str) else str(data) if isinstance(data, Path) else "arrays",
        method=method,
        labels=labels,
        model=model if isinstance(model, str) else runs.OWN_MODULE,
        epochs=epochs,
        steps=steps,
        minutes=minutes,
        seed=seed,
        **{name: value for name, value in settings.items() if name in known},  # type: ignore[arg-type]
        overrides=frozen({name: value for name, value in settings.items() if name not in known}),
    )
    folder = free_name(Path("runs"), default_name(config)) if out is None else Path(out)
    network = model if isinstance(model, nn.Module) else None
    runs.start(config, folder, source=_source(data, config), network=network, listener=listener)
    return load(folder, model=network)


def resume(
    folder: str | Path, *, data: Data | None = None, model: nn.Module | None = None, listener: Listener = silent
) -> Run:
    """Go on with a run that was cut off. Bring the arrays and the module again if they were passed in."""
    folder = Path(folder)
    if not RunFolder(folder).finished:
        config = from_toml(RunFolder(folder).config)
        if data is None and config.data == "arrays":
            raise InputError(
                f"{folder} was trained on arrays: resume it with fewlabels.resume({str(folder)!r}, data=...)"
            )
        source = None if data is None else open_source(data, size=config.size, flip=config.flip)
        runs.resume(folder, source=source, network=model, listener=listener)
    return load(folder, model=model)


def load(folder: str | Path, *, model: nn.Module | None = None, device: str = "cpu") -> Run:
    """A finished run from its folder."""
    folder = Path(folder)
    record = runs.finished_record(folder)
    return Run(folder, record, load_classifier(RunFolder(folder).weights, model, device))


def default_name(config: Config) -> str:
    """What a run is called when nobody says: data, method, labels, seed."""
    parts = [Path(config.data).stem or "run", config.method]
    if config.labels is not None:
        parts.append(str(config.labels))
    return "-".join([*parts, f"s{config.seed}"])


def _source(data: Data, config: Config) -> Source | None:
    """Arrays are opened here, for the request cannot name them."""
    return None if isinstance(data, str | Path) else open_source(data, size=config.size, flip=config.flip)

"""What a finished run's network is worth on other images, and what it says of new ones."""

from __future__ import annotations

import csv
import dataclasses
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fewlabels.data.images import UNKNOWN, Images
from fewlabels.data.sources import Data, open_source, read_pixels
from fewlabels.errors import InputError, RunError
from fewlabels.report.names import percent, thousands
from fewlabels.report.statistics import Interval, wilson
from fewlabels.train.config import from_toml
from fewlabels.train.folder import RunFolder
from fewlabels.train.run import finished_record
from fewlabels.train.weights import Classifier, load_classifier


@dataclass(frozen=True)
class Verdict:
    """How often a network is wrong on the test part of a data set."""

    data: str
    wrong: int
    total: int

    @property
    def error(self) -> float:
        """A fraction."""
        return self.wrong / self.total

    @property
    def interval(self) -> Interval:
        """Wilson's, at 95 %."""
        return wilson(self.wrong, self.total)

    def as_dict(self) -> dict[str, object]:
        """For machines."""
        return {**dataclasses.asdict(self), "error": self.error, "interval": list(self.interval)}

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"test error {percent(self.error)} % (95 % interval {percent(low)} to {percent(high)}) "
            f"on {thousands(self.total)} images of {self.data}"
        )


def judge_run(run: Path, data: Data | None = None, *, data_dir: str | None = None, device: str = "cpu") -> Verdict:
    """Judge a finished run's network on the test part of its own data, or of ``data``."""
    finished_record(run)
    folder = RunFolder(run)
    config = from_toml(folder.config)
    if data is None and config.data == "arrays":
        raise InputError(f"{run} was trained on arrays, which it does not keep: say what to judge on")
    source = open_source(config.data if data is None else data, data_dir=data_dir or config.data_dir, size=config.size)
    classifier = load_classifier(folder.weights, device=device)
    if source.test is None:
        raise InputError(f"{source.name} has no test part to judge on: add test/<class>/ to the folder, or x_test")
    if source.classes != classifier.classes:
        raise InputError(
            f"{source.name} has the classes {', '.join(source.classes)} and the network knows "
            f"{', '.join(classifier.classes)}: judge on the same classes"
        )
    return verdict(classifier, source.test, source.name)


def verdict(classifier: Classifier, test: Images, name: str) -> Verdict:
    """Count the mistakes on labelled images."""
    known = (test.labels != UNKNOWN).nonzero()[:, 0]
    guess = classifier.probabilities(test.pixels[known]).argmax(1)
    return Verdict(name, int((guess != test.labels[known]).sum()), len(known))


def write_predictions(run: Path, images: Data, out: Path, *, device: str = "cpu") -> int:
    """Write ``path, label`` and a probability a class for each image; how many there were."""
    if os.path.lexists(out):
        raise InputError(f"{out} exists and is never overwritten: choose another --out")
    if not out.parent.is_dir():
        raise InputError(f"there is no folder {out.parent} to write {out.name} into: make it, or choose another --out")
    finished_record(run)
    classifier = load_classifier(RunFolder(run).weights, device=device)
    found = read_pixels(images, shape=classifier.shape)
    probabilities = classifier.probabilities(found.pixels)
    names = found.paths or tuple(str(i) for i in range(len(found)))
    rows = (
        [name, classifier.classes[int(row.argmax())], *(f"{p:.6g}" for p in row.tolist())]
        for name, row in zip(names, probabilities, strict=True)
    )
    _write_csv(out, ["path", "label", *classifier.classes], rows)
    return len(found)


def _write_csv(out: Path, header: list[str], rows: Iterable[list[str]]) -> None:
    beside = out.with_name(out.name + ".part")
    try:
        with beside.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows)
        os.replace(beside, out)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise RunError(f"could not write {out}: {error}") from error

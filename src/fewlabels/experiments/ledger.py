"""Which runs are done already, and the one file where all of them are gathered."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fewlabels.errors import RunError
from fewlabels.experiments.identity import SEED, key, key_of_record
from fewlabels.report.records import Record, read_file, record_files
from fewlabels.train.config import Config


@dataclass
class Ledger:
    """Records by what they are the result of. ``file`` is only ever appended to."""

    file: Path
    known: dict[str, Record] = field(default_factory=dict)
    loose: list[Path] = field(default_factory=list)  # records that stand in their run's folder alone

    def record(self, config: Config) -> Record | None:
        """What came out of this request, if it has been run."""
        return self.known.get(key(config))

    def of_cells(self, cells: Iterable[Config]) -> tuple[Record, ...]:
        """Every seed of these cells."""
        asked = {key(cell, but=SEED) for cell in cells}
        return tuple(record for record in self.known.values() if key_of_record(record, but=SEED) in asked)

    def gather(self) -> None:
        """Add what stands in its run's folder alone."""
        while self.loose:
            self.add(self.loose.pop())

    def add(self, path: Path) -> Record:
        """Gather a finished run's ``record.json``, as it is, into one line."""
        record = next(record for _, record in read_file(path))
        line = " ".join(path.read_text(encoding="utf-8").split("\n"))
        try:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunError(f"could not write {self.file}: {error}. Free some space and run the same again") from error
        self.known.setdefault(key_of_record(record), record)
        return record


def open_ledger(out: Path, results: Path | None) -> Ledger:
    """All records below ``results`` and in ``out``, and those of runs that ended without being gathered."""
    ledger = Ledger(out / "records.jsonl")
    places = [path for path in (results, ledger.file) if path is not None and path.exists()]
    for file in (file for place in places for file in record_files(place)):
        for _, record in read_file(file):
            ledger.known.setdefault(key_of_record(record), record)
    for path in sorted((out / "runs").glob("*/record.json")):
        for _, record in read_file(path):
            if ledger.known.setdefault(key_of_record(record), record) is record:
                ledger.loose.append(path)
    return ledger


def _drop_torn_line(file: Path) -> None:
    """A line cut off by a power failure is taken away: the run's own record is still in its folder."""
    if file.is_file() and not (content := file.read_bytes()).endswith(b"\n"):
        with file.open("rb+") as stream:
            stream.truncate(content.rfind(b"\n") + 1)

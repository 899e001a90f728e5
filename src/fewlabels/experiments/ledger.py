"""Which runs are done already, and the one file where all of them are gathered."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fewlabels.errors import RunError
from fewlabels.experiments.identity import SEED, key, key_of_record
from fewlabels.report.records import Record, parse_record, read_file, read_object, read_records
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

    def of_cells(self, cells: Iterable[Config], preset: str) -> tuple[Record, ...]:
        """Every seed of these cells."""
        return records_of_cells(self.known.values(), cells, preset)

    def gather(self) -> None:
        """Add what stands in its run's folder alone; a line that a power failure cut off is one of these."""
        if self.file.is_file():
            with self.file.open("rb+") as stream:
                stream.truncate(len(_whole_lines(self.file)))
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
    if results is not None and results.exists():
        ledger.known |= known_records(results)
    if ledger.file.is_file():
        for number, line in enumerate(_whole_lines(ledger.file).splitlines(), start=1):
            where = f"{ledger.file}:{number}"
            record = parse_record(read_object(line.decode(), where), where)
            ledger.known.setdefault(key_of_record(record), record)
    for path in sorted((out / "runs").glob("*/record.json")):
        for _, record in read_file(path):
            if ledger.known.setdefault(key_of_record(record), record) is record:
                ledger.loose.append(path)
    return ledger


def known_records(results: Path) -> dict[str, Record]:
    """Every run below a folder once: one that was gathered may stand in its own folder as well."""
    known: dict[str, Record] = {}
    for record in read_records([results]):
        known.setdefault(key_of_record(record), record)
    return known


def records_of_cells(records: Iterable[Record], cells: Iterable[Config], preset: str) -> tuple[Record, ...]:
    """Every seed of these cells, under the name of this preset, whoever ran it."""
    asked = {key(cell, but=SEED) for cell in cells}
    found = (record for record in records if key_of_record(record, but=SEED) in asked)
    return tuple(dataclasses.replace(record, preset=preset) for record in found)


def _whole_lines(file: Path) -> bytes:
    """A file up to its last line's end."""
    content = file.read_bytes()
    return content[: content.rfind(b"\n") + 1]

"""A CSV table: ``path,label``, optionally ``split``; an empty label is unlabelled, paths are relative to the table."""

from __future__ import annotations

import csv
import difflib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fewlabels.data.images import Source
from fewlabels.data.sources.files import PARTS, Entry, checked_type, source_of_files
from fewlabels.data.sources.request import Request
from fewlabels.errors import InputError

REQUIRED, OPTIONAL = ("path", "label"), ("split",)
COLUMNS = "the columns are path and label, and optionally split"


def open_table(file: Path, request: Request) -> Source:
    """Labels are any text; ``split`` is train (or empty), validation or test."""
    entries: dict[str, Entry] = {}
    lines: dict[str, int] = {}
    for line, entry in _rows(file):
        key = os.path.normpath(entry.path)
        if key in entries:
            raise InputError(f"{file}, line {line}: {_repeated(entry, entries[key], lines[key])}")
        entries[key], lines[key] = entry, line
    if not entries:
        raise InputError(f"{file} lists no image: add one row an image")
    return source_of_files(file.stem, list(entries.values()), request)


def _rows(file: Path) -> Iterator[tuple[int, Entry]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
            _check_columns(file, reader.fieldnames)
            for row in reader:
                yield reader.line_num, _entry(file, reader.line_num, row)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} is not a CSV table in UTF-8: {error}; save it as one") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}; make it readable") from None


def _entry(file: Path, line: int, row: dict[str | None, str | None]) -> Entry:
    if None in row or None in row.values():
        raise InputError(f"{file}, line {line} has more or fewer fields than the first line: quote fields with commas")
    path, label, part = ((row.get(name) or "").strip() for name in (*REQUIRED, *OPTIONAL))
    part = part or "train"
    if not path:
        raise InputError(f"{file}, line {line} has no path: fill it in or remove the line")
    if part not in PARTS:
        raise InputError(f"{file}, line {line}: split {part!r} is not train, validation or test: change it")
    if part != "train" and not label:
        raise InputError(f"{file}, line {line}: an image of the {part} part needs a label: give one or clear its split")
    found = file.parent / path
    if not found.is_file():
        raise InputError(f"{file}, line {line}: there is no file {found}: paths are relative to the table's folder")
    return Entry(checked_type(found), label, part)


def _check_columns(file: Path, found: Sequence[str]) -> None:
    for name in found:
        if name not in REQUIRED + OPTIONAL:
            close = difflib.get_close_matches(name.lower(), REQUIRED + OPTIONAL, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "rename or remove it"
            raise InputError(f"{file} has a column {name!r}, and {COLUMNS}, separated by commas: {hint}")
    missing = [name for name in REQUIRED if name not in found]
    if missing:
        raise InputError(f"{file} has no column {missing[0]!r}: {COLUMNS}, named in the first line")
    if len(set(found)) < len(found):
        raise InputError(f"{file} has the columns {', '.join(found)}: name each once")


def _repeated(entry: Entry, other: Entry, line: int) -> str:
    if bool(entry.label) != bool(other.label):
        return f"{entry.path} is both labelled and unlabelled (line {line}): keep one of the lines"
    return f"{entry.path} is listed twice (line {line}): keep one of the lines"

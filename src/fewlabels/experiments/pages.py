"""``python -m fewlabels.experiments.pages PAGE...``: pages' tables, made anew from the presets and from the records.

A table stands between ``<!-- begin: table1 desk -->`` and ``<!-- end -->``; what stood there before is replaced. Beside
the tables of the paper there are ``costs``, ``times desk`` and ``own desk``, our numbers without the quoted ones, of
every method or, ``own desk vat``, of one. Nothing in such a table is typed by hand, so no number stands on a page
without a record behind it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from fewlabels.errors import InputError
from fewlabels.experiments.catalogue import EXPERIMENTS
from fewlabels.experiments.cost import images_of, steps_of
from fewlabels.experiments.experiment import Drawing, cells
from fewlabels.experiments.ledger import known_records, records_of_cells
from fewlabels.experiments.presets import PRESETS, preset
from fewlabels.experiments.tabulate import by_method
from fewlabels.report.names import data_name, duration, method_name, thousands
from fewlabels.report.quoted import Quote
from fewlabels.report.records import Record
from fewlabels.train.config import pick

BLOCK = re.compile(r"(<!-- begin: (?P<asked>[a-z0-9 -]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, records: Sequence[Record]) -> str:
    """A page with its tables made anew.

    >>> print(fill("<!-- begin: table2 desk -->\\nold\\n<!-- end -->", []))
    <!-- begin: table2 desk -->
    There is no record of it yet.
    <!-- end -->
    """
    return BLOCK.sub(lambda found: found[1] + _block(found["asked"], records).rstrip("\n") + "\n" + found[3], text)


def _block(asked: str, records: Sequence[Record]) -> str:
    if asked == "costs":
        return costs()
    what, name, *methods = asked.split()
    if what == "times":
        return times([record for record in records if record.preset == preset(name).name])
    if what == "own":
        return _table("methods", name, records, methods or None, quotes=())
    return _table(what, name, records)


def costs() -> str:
    """How much each table and figure is in each preset: runs, steps, images. Shared runs are counted in each.

    >>> costs().splitlines()[3]
    '| table1 | desk | 16 | 1,536, 2,560 | 32,768 | 5,603,328 |'
    """
    lines = ["| what | preset | runs | steps a run | steps | images |", "|---|---|---|---|---|---|"]
    for name, experiment in EXPERIMENTS.items():
        for chosen in PRESETS.values():
            runs = cells(experiment, chosen)
            each = {steps_of(run) for run in runs}
            lines.append(
                f"| {name} | {chosen.name} | {len(runs)} | {', '.join(map(thousands, sorted(each)))} "
                f"| {thousands(sum(map(steps_of, runs)))} | {thousands(sum(map(images_of, runs)))} |"
            )
    return "\n".join(lines)


def times(records: Sequence[Record]) -> str:
    """How long runs took, by data set, method and number of labels: the median, from the records."""
    groups: dict[tuple[str, str, int, str, str], list[float]] = {}
    for r in records:
        if r.seconds is not None:
            asked = (r.data, r.method, r.labels, str(r.budget), r.device or "unknown")
            groups.setdefault(asked, []).append(r.seconds)
    if not groups:
        return "There is no record of it yet."
    lines = ["| data | method | labels | budget | runs | median time | device |", "|---|---|---|---|---|---|---|"]
    lines += [
        f"| {data_name(data)} | {method_name(method)} | {thousands(labels)} | {budget} | {len(seconds)} "
        f"| {duration(median(seconds))} | {device} |"
        for (data, method, labels, budget, device), seconds in groups.items()
    ]
    return "\n".join(lines)


def _table(
    what: str,
    name: str,
    records: Sequence[Record],
    methods: Sequence[str] | None = None,
    quotes: Sequence[Quote] | None = None,
) -> str:
    experiment, chosen = pick(EXPERIMENTS, what, "table or figure"), preset(name)
    drawn = cells(experiment, chosen, seeds=chosen.seeds[:1], methods=methods)
    mine = records_of_cells(records, drawn, chosen.name)
    if not mine:
        return "There is no record of it yet."
    title = experiment.title if methods is None else "Test error"
    drawing = Drawing(what, title, mine, drawn, chosen, Path())
    table = experiment.table(drawing) if quotes is None else by_method(drawing, quotes)
    return str(table.to_markdown())


def main(pages: Sequence[Path], results: Path = Path("results")) -> None:
    """Fill pages in place."""
    for page in pages:
        if not page.is_file():
            raise InputError(f"{page} is not a file: give a page that has <!-- begin: ... --> in it")
    records = tuple(known_records(results).values())
    for page in pages:
        page.write_text(fill(page.read_text(encoding="utf-8"), records), encoding="utf-8")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from fewlabels.errors import InputError
from fewlabels.experiments.catalogue import EXPERIMENTS
from fewlabels.experiments.ledger import known_records
from fewlabels.experiments.pages import BLOCK, costs, fill, main
from fewlabels.experiments.reproduce import reproduce
from fewlabels.report.records import read_records

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "reproducing.md"
PAGES = [page for page in sorted((PROJECT / "docs").rglob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8"))]


def block(page: str, asked: str) -> str:
    (found,) = [found[0] for found in BLOCK.finditer(page) if found["asked"] == asked]
    return found


def test_the_page_says_what_everything_costs_now():
    page = PAGE.read_text(encoding="utf-8")
    assert costs() in block(page, "costs")
    for name in EXPERIMENTS:
        assert f"| {name} | paper |" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tables_of_every_page_are_those_of_the_records(page):
    text = page.read_text(encoding="utf-8")
    records = tuple(known_records(PROJECT / "results").values())
    assert fill(text, records) == text, f"python -m fewlabels.experiments.pages {page}"


def test_our_own_numbers_stand_without_quoted_ones(pool, tmp_path):
    reproduce("methods", preset="smoke", data="svhn", methods=["sm-gnn", "vat"], seeds=[0], out=tmp_path / "results")
    records = tuple(known_records(tmp_path / "results").values())
    every, one = (fill(f"<!-- begin: {asked} -->\n<!-- end -->", records) for asked in ("own smoke", "own smoke vat"))
    assert "S-M-GNN" in every
    assert "S-M-GNN" not in one
    assert "VAT" in every
    assert "VAT" in one
    assert "quoted" not in every
    assert "no record" in fill("<!-- begin: own smoke pi -->\n<!-- end -->", records)


def test_tables_are_made_from_the_records(pool, tmp_path):
    made = reproduce("table2", preset="smoke", data="svhn", methods=["sm-gnn"], seeds=[0, 1], out=tmp_path / "results")
    page = tmp_path / "page.md"
    page.write_text(
        "Before\n<!-- begin: table2 smoke -->\nold\n<!-- end -->\n<!-- begin: times smoke -->\n<!-- end -->\nAfter\n"
    )
    main([page], tmp_path / "results")
    text = page.read_text()
    assert made.written[0].read_text().strip() in text
    assert "| Digits | S-M-GNN | 50 | 2 steps | 2 | " in text
    assert "old" not in text
    assert (text.splitlines()[0], text.splitlines()[-1]) == ("Before", "After")
    main([page], tmp_path / "results")
    assert page.read_text() == text


def test_records_of_another_preset_are_not_in_a_presets_times(pool, tmp_path):
    reproduce("table2", preset="smoke", data="svhn", methods=["sm-gnn"], seeds=[0], out=tmp_path)
    (record,) = read_records([tmp_path / "records.jsonl"])
    assert record.preset == "smoke"
    page = "<!-- begin: times desk -->\n<!-- end -->"
    assert "no record" in fill(page, [record])
    assert "S-M-GNN" in fill(page, [dataclasses.replace(record, preset="desk")])


def test_a_page_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="is not a file"):
        main([tmp_path / "page.md"], tmp_path)

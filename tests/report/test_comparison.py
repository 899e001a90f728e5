"""What a page of several runs says: who stands beside whom, on which scale, and how much of it fits."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from report_fixtures import make_record, make_tree

from fewlabels.report.comparison import Block, Row, compare
from fewlabels.report.page import LIMIT, render
from fewlabels.report.records import Record
from fewlabels.report.runs import Run, read_runs


def run(name: str = "a run", **fields: Any) -> Run:
    record = make_record(**fields)
    return Run(name, record, curve=record.curve)


def compared(*runs: Run) -> tuple[Block, ...]:
    return compare(runs, [f"run-{i}" for i in range(len(runs))])


def leading(block: Block) -> list[Row]:
    return [row for row in block.rows if row.leads]


def test_each_setting_has_its_own_block_and_the_lowest_error_stands_first_in_each():
    runs = [
        run(data=data, labels=labels, method=method, seed=seed, error=error + seed / 100)
        for data, labels in (("svhn", 1000), ("cifar10", 4000), ("cifar10", 250))
        for method, error in (("supervised", 0.2), ("rot", 0.1), ("vat", 0.3))
        for seed in (0, 1)
    ]
    blocks = compared(*runs)
    assert [block.title for block in blocks] == ["CIFAR-10, 250 labels", "CIFAR-10, 4,000 labels", "SVHN, 1,000 labels"]
    for block in blocks:
        assert [row.name for row in leading(block)] == ["ROT", "Supervised", "VAT"]
        assert block.facts == "preset desk, 1,280 steps"
        assert block.charts


def test_a_method_has_one_colour_on_the_whole_page():
    errors = {"cifar10": {"rot": 0.3, "vat": 0.2}, "svhn": {"rot": 0.1, "vat": 0.2, "supervised": 0.05}}
    blocks = compared(*(run(data=d, method=m, error=e) for d, found in errors.items() for m, e in found.items()))
    tones = [{row.name: row.tone for row in block.rows} for block in blocks]
    assert tones == [{"VAT": 0, "ROT": 1}, {"Supervised": 2, "ROT": 1, "VAT": 0}]
    assert [tone for _, tone in blocks[1].charts[0].legend] == [2, 1, 0]


def test_the_scale_holds_the_deviation_of_a_mean():
    (block,) = compared(*(run(seed=seed, error=error) for seed, error in enumerate((0.02, 0.02, 0.30))))
    mean = leading(block)[0].bar
    for row in block.rows:
        assert block.scale.low <= row.bar.low <= row.bar.at <= row.bar.high <= block.scale.high
    assert mean.low == 0  # no error is below none


def test_a_wide_deviation_is_not_clipped():
    (spread,) = compared(*(without_interval(seed, error) for seed, error in enumerate((0.1, 0.3))))
    mean = leading(spread)[0].bar
    assert (round(mean.low, 2), round(mean.high, 2)) == (5.86, 34.14)
    assert spread.scale.high >= mean.high


def without_interval(seed: int, error: float) -> Run:
    record = dataclasses.replace(make_record(seed=seed, error=error), test_interval=None)
    return Run(f"run {seed}", record)


def test_no_errors_at_all_are_drawn_from_zero_to_one():
    (block,) = compared(without_interval(0, 0.0), without_interval(1, 0.0))
    assert (block.scale.low, block.scale.high) == (0, 1)


def test_one_seed_is_one_row_and_several_are_a_mean_with_a_row_each():
    (block,) = compared(run("one", method="vat"), run("two", error=0.2), run("three", error=0.3, seed=1))
    alone, mean, *seeds = block.rows
    assert (alone.name, alone.facts, alone.key, alone.deviation) == ("VAT", "seed 0, one, 15 min 3 s", "run-0", "")
    assert alone.interval == "17.26 to 18.77"
    assert (mean.name, mean.facts, mean.key) == ("ROT", "mean of 2 seeds", None)
    assert (mean.error, mean.deviation, mean.interval) == ("25.00", "7.07", "")
    assert [(row.name, row.leads, bool(row.interval)) for row in seeds] == [
        ("seed 0", False, True),
        ("seed 1", False, True),
    ]


def test_a_band_is_told_of_only_where_there_is_one():
    (single,) = compared(run(), run(method="vat"))
    (several,) = compared(run(), run(seed=1))
    assert not any("deviation" in chart.about for chart in single.charts)
    assert [chart.title for chart in several.charts if "the band is one deviation" in chart.about] == [
        "Validation error",
        "Loss",
        "Right pseudo-labels",
    ]  # all of these have the same transport cost


def test_presets_and_budgets_are_told_where_they_differ():
    runs = [run(), run(preset="smoke", steps=32), run(method="vat", steps=64)]
    (block,) = compared(*runs)
    assert block.facts == ""
    told = {row.name: row.facts.split(", seed")[0] for row in block.rows}
    assert told == {"ROT, desk": "1,280 steps", "ROT, smoke": "32 steps", "VAT, desk": "64 steps"}


def test_a_seed_that_was_run_twice_has_a_name_of_its_own():
    (block,) = compared(run("first"), run("second", error=0.2))
    assert [row.name for row in block.rows] == ["ROT", "ROT, again"]
    assert {row.facts.split(", ")[1] for row in block.rows} == {"first", "second"}


def test_more_kinds_of_runs_than_colours_are_said_to_have_no_curve():
    (block,) = compared(*(run(method=f"method-{i}", error=0.1 + i / 100) for i in range(11)))
    assert len(block.charts[0].legend) == 8
    assert [row.tone is None for row in block.rows] == [False] * 8 + [True] * 3
    assert block.left_out == ("curves of 3 more kinds of runs",)


@pytest.mark.parametrize("varied", ["seed", "method", "data"])
def test_a_page_of_thousands_of_runs_stays_below_its_limit(varied):
    record = make_record(epochs=40)
    settings = {"seed": lambda i: i, "method": "method-{}".format, "data": "set-{}".format}
    runs = [
        Run(f"records.jsonl:{i}", changed, curve=record.curve)
        for i in range(2500)
        if (changed := dataclasses.replace(record, **{varied: settings[varied](i)}))
    ]
    page = render(runs)
    assert len(page.encode()) <= LIMIT
    assert "to stay small: give fewer runs at once to see them" in page


def test_what_does_not_fit_goes_in_this_order():
    (block,) = compared(*(run(f"{i} {s}", method=f"method-{i}", seed=s) for i in range(30) for s in (0, 1)))
    full, groups, *rest = block.smaller()
    assert full == block
    assert len(full.rows) == 90
    assert len(groups.rows) == 30
    assert groups.charts == full.charts
    assert [(len(form.rows), len(form.charts)) for form in rest] == [(30, 0), (30, 0), (20, 0)]
    assert rest[-1].left_out == ("rows for each seed", "curves", "10 kinds of runs of higher errors")


def test_a_line_of_a_file_is_named_by_file_and_line(tmp_path):
    file = tmp_path / "records.jsonl"
    file.write_text("".join(json.dumps(make_tree(seed=seed)) + "\n" for seed in (0, 1)), encoding="utf-8")
    assert [found.name for found in read_runs([file])] == ["records.jsonl:1", "records.jsonl:2"]


def test_a_record_alone_can_be_compared():
    bare = Record("digits", "rot", 100, 0)
    (block,) = compared(Run("a", bare), Run("b", dataclasses.replace(bare, method="vat"), finished=False))
    assert [(row.error, row.bar, row.facts) for row in block.rows] == [
        ("–", None, "seed 0, a, no test part"),
        ("–", None, "seed 0, b, not ended"),
    ]
    assert block.charts == ()

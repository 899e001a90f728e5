import csv
import dataclasses
import io

import pytest
from report_fixtures import make_record

from fewlabels.report.quoted import OLIVER, QUOTES, ROT_PAPER, quote
from fewlabels.report.statistics import Spread
from fewlabels.report.tables import FIT, Column, Measured, Quoted, Row, Setting, Table, error_table

CIFAR = Setting("cifar10", 4000)


def cells(table: Table, label: str) -> dict[str, str]:
    (row,) = [row for row in table.rows if row.label == label]
    return {
        column.heading: str(cell) for column, cell in zip(table.columns, row.cells, strict=True) if cell is not None
    }


def test_a_cell_shows_mean_deviation_n_preset_and_budget():
    runs = [make_record(seed=seed, error=error) for seed, error in enumerate((0.17, 0.18, 0.19))]
    table = error_table("Errors", runs, [CIFAR], ["rot"], quotes=())
    assert cells(table, "ROT") == {"CIFAR-10, 4,000 labels: preset desk": "18.00 ± 1.00 (n = 3, desk, 1,280 steps)"}


def test_a_single_run_has_no_deviation():
    table = error_table("Errors", [make_record(error=0.18)], [CIFAR], ["rot"], quotes=())
    assert str(table.rows[0].cells[0]) == "18.00 (n = 1, desk, 1,280 steps)"


def test_presets_and_quoted_numbers_have_columns_of_their_own():
    runs = [make_record(error=0.18), make_record(error=0.06, preset="paper", steps=500_000)]
    table = error_table("Errors", runs, [CIFAR], ["rot", "vat"])
    assert cells(table, "ROT") == {
        "CIFAR-10, 4,000 labels: preset desk": "18.00 (n = 1, desk, 1,280 steps)",
        "CIFAR-10, 4,000 labels: preset paper": "6.00 (n = 1, paper, 500,000 steps)",
        f"CIFAR-10, 4,000 labels: quoted, {ROT_PAPER}": "6.06 ± 0.12",
    }
    assert "CIFAR-10, 4,000 labels: preset desk" not in cells(table, "VAT")


@pytest.mark.parametrize(
    "cell",
    [
        Measured(Spread(0.1, None, 1), "smoke", "10 steps"),
        Quoted(0.1, None, ROT_PAPER),
    ],
)
def test_a_table_that_mixes_them_cannot_be_made(cell):
    for column in (Column(CIFAR, preset="desk"), Column(CIFAR, source=OLIVER)):
        with pytest.raises(ValueError, match="does not belong"):
            Table("Errors", (column,), (Row("ROT", (cell,)),))
    with pytest.raises(ValueError, match="cells for 1 columns"):
        Table("Errors", (Column(CIFAR),), (Row("ROT", ()),))


def test_runs_that_differ_in_more_than_the_seed_are_not_averaged():
    runs = [make_record(seed=s, reg=reg, error=0.18 + s / 100) for reg in (0.25, 0.5) for s in (0, 1)]
    table = error_table("Errors", runs, [CIFAR], ["rot"], quotes=())
    assert [row.label for row in table.rows] == ["ROT (reg 0.25)", "ROT (reg 0.5)"]
    assert [row.cells[0].error.n for row in table.rows] == [2, 2]


def test_budgets_are_not_averaged():
    runs = [make_record(steps=steps) for steps in (1280, 2560)]
    table = error_table("Errors", runs, [CIFAR], ["rot"], quotes=())
    assert [row.label for row in table.rows] == ["ROT (budget 1,280 steps)", "ROT (budget 2,560 steps)"]


def test_a_seed_that_was_run_twice_counts_once_and_the_later_run_counts():
    first, second = make_record(error=0.30), make_record(error=0.20)
    second = dataclasses.replace(second, started="2026-12-01T00:00:00+00:00")
    for runs in ([first, second], [second, first]):
        table = error_table("Errors", runs, [CIFAR], ["rot"], quotes=())
        assert str(table.rows[0].cells[0]) == "20.00 (n = 1, desk, 1,280 steps)"


def test_terminal_errors_say_so():
    run = dataclasses.replace(make_record(), test_error=None, terminal_test_error=0.2)
    table = error_table("Errors", [run], [CIFAR], ["rot"], quotes=())
    assert str(table.rows[0].cells[0]) == "20.00 (n = 1, desk, 1,280 steps, terminal)"


def test_all_labels_is_a_setting_of_its_own():
    runs = [make_record(method="supervised", labels=45_000, unlabeled=0, error=0.05), make_record(method="supervised")]
    table = error_table("Errors", runs, [Setting("cifar10", None), CIFAR], ["supervised"], quotes=())
    assert [c.error.mean for c in table.rows[0].cells] == [0.05, 0.18]


def test_markdown_has_a_cell_for_each_column():
    lines = error_table("Errors", [make_record()], [CIFAR], ["rot", "vat"]).to_markdown().splitlines()
    body = [line for line in lines if line.startswith("|")]
    assert len(body) == 4
    assert len({line.count("|") for line in body}) == 1


def test_latex_escapes_and_balances():
    table = Table("100 % of #1_a", (Column(CIFAR, preset="a_b"),), (Row("x & y", (None,)),), ("~^\\",))
    tex = table.to_latex()
    assert r"100 \% of \#1\_a. \textasciitilde{}\textasciicircum{}\textbackslash{}" in tex
    assert r"x \& y & --" in tex
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"preset a\_b"):
        assert rule in tex
    assert tex.count("{") == tex.count("}")
    assert r"\pm" in error_table("Errors", [], [CIFAR], ["rot"]).to_latex()


def test_latex_of_a_wide_table_is_a_tabular_for_each_setting():
    settings = [CIFAR, Setting("svhn", 1000)]
    runs = [make_record(data=setting.data, labels=setting.labels) for setting in settings]
    wide = error_table("Errors", runs, settings, ["rot", "vat"])
    assert len(wide.columns) > FIT
    cifar, svhn = wide.to_latex().split(r"\bigskip")
    assert ("SVHN" in cifar, "CIFAR" in svhn) == (False, False)
    for part, error in ((cifar, "6.06"), (svhn, "3.11")):
        assert part.count(r"\toprule") == part.count(r"\bottomrule") == 1
        (rot,) = [line for line in part.splitlines() if line.strip().startswith("ROT")]
        assert error in rot
        assert "(n = 1, desk, 1,280 steps)" in rot
        (head,) = [line for line in part.splitlines() if line.strip().startswith("Method")]
        assert head.count(r"\begin{tabular}") == len(wide.columns) / 2
    assert error_table("Errors", runs, settings, ["rot"], quotes=()).to_latex().count(r"\toprule") == 1


def test_csv_has_a_line_for_each_cell():
    table = error_table("Errors", [make_record(seed=s) for s in (0, 1)], [CIFAR], ["rot"])
    lines = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert [(line["kind"], line["n"], line["preset"], line["source"]) for line in lines] == [
        ("ours", "2", "desk", ""),
        ("quoted", "", "", ROT_PAPER),
    ]
    assert lines[0]["mean"] == "18.0000"


def test_every_quote_has_a_source_and_is_a_fraction():
    for found in QUOTES:
        assert 0 < found.mean < 0.25
        assert found.source
        assert quote(found.method, found.data, found.labels, found.source) is found

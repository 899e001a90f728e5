"""What the page says of one run, and how its charts are laid out."""

from __future__ import annotations

import dataclasses

import pytest
from report_fixtures import make_record, make_tree

from fewlabels.report.charts import Line, Mark, draw
from fewlabels.report.curves import run_charts
from fewlabels.report.records import parse_record
from fewlabels.report.runs import Run
from fewlabels.report.view import view


def told(**fields):
    """The configuration as the page tells it."""
    return dict(view(Run("a run", parse_record({**make_tree(), **fields})), "run-1", None).settings)


def test_what_was_left_open_is_told_as_it_came_to_be():
    config = {"data": "digits", "model": "auto", "precision": "auto", "device": "auto", "steps": 512}
    config |= {"labeler": {"name": "ROT", "clusters": None}, "terms": [], "recipe": {"name": "Recipe", "epochs": 60}}
    found = told(data="digits", model="small", precision="bf16", recipe="strong", labels=100, config=config)
    assert list(found)[:7] == ["data", "method", "recipe", "labels", "unlabeled", "model", "precision"]
    assert (found["recipe"], found["labels"], found["unlabeled"]) == ("strong", "100", "41000")
    assert (found["model"], found["precision"]) == ("small (asked: auto)", "bf16 (asked: auto)")
    assert found["steps"] == "512"
    assert found["labeler.clusters"] == "–"
    assert "recipe.epochs" not in found  # steps ruled
    assert "device" not in found  # it stands below, as what it was
    without = {name: value for name, value in config.items() if name != "steps"}
    assert told(config=without)["recipe.epochs"] == "60"


def test_a_supervised_run_is_not_said_to_have_used_unlabelled_images():
    shown = {m: view(Run("a run", make_record(method=m, unlabeled=1100)), "run-1", None) for m in ("rot", "supervised")}
    assert "1,100 unlabelled images" in shown["rot"].subtitle
    assert "unlabelled" not in shown["supervised"].subtitle
    assert "unlabeled" not in dict(shown["supervised"].settings)


def test_the_first_epochs_do_not_press_all_others_flat():
    fall = ((1, 90.0), (2, 20.0), (3, 8.0), (4, 5.0), (5, 4.0), (6, 4.5), (7, 4.2), (8, 4.0))
    chart = draw("Validation error", [Line("error", fall)], about="After each epoch")
    assert float(chart.y_ticks[-1].text) <= 20
    assert chart.about == "After each epoch; the first epochs are outside the frame"
    assert chart.paths[0][0].startswith("M")
    assert " 0L" in chart.paths[0][0]  # it comes in through the upper edge
    assert next(cells for _, cells in chart.rows) == ("1", "90")  # the table has them all
    slow = draw("Validation error", [Line("error", tuple((x, 100.0 - 10 * x) for x in range(9)))], about="All")
    assert slow.about == "All"
    assert slow.y_ticks[-1].text == "100"


def test_markers_stand_on_measured_points_alone():
    chart = draw("Loss", [Line("one", ((1, 90.0), (2, 3.0), (3, 2.0), (4, 1.0))), Line("two", ((1, 4.0), (4, 2.0)), 1)])
    assert {round(x) for x, _, _ in chart.markers} <= {0, 33, 67, 100}
    assert {tone for _, _, tone in chart.markers} == {0, 1}
    assert all(0 <= y <= 100 for _, y, _ in chart.markers)


@pytest.mark.parametrize(("names", "direct"), [(("ROT", "VAT"), 2), (("Supervised, CIFAR-10, 4,000 labels", "ROT"), 0)])
def test_long_names_stand_in_the_legend_alone(names, direct):
    lines = [Line(name, ((1, 1.0), (2, 2.0)), tone) for tone, name in enumerate(names)]
    chart = draw("Loss", lines)
    assert len(chart.labels) == direct
    assert chart.legend == tuple((name, tone) for tone, name in enumerate(names))
    assert chart.gutter < 150
    assert draw("Loss", lines[:1]).legend == ()
    assert draw("Loss", lines[:1], named=True).legend == ((names[0], 0),)


def test_the_test_error_is_named_in_the_legend_and_never_on_the_curve():
    chart = run_charts(make_record().curve, make_record())[0]
    assert [name for name, _ in chart.legend] == ["validation error", "test error 18.00 %"]
    assert chart.labels == ()
    assert "the test error at the epoch of lowest validation error" in chart.about
    unmarked = dataclasses.replace(make_record(), test_error=None)
    assert run_charts(unmarked.curve, unmarked)[0].legend == ()


def test_a_mark_widens_the_frame():
    chart = draw("Error", [Line("error", ((1, 5.0), (2, 4.0)))], marks=[Mark("test", 2, 6.0, 2.0, 9.0, 1)])
    low, high = (float(chart.y_ticks[i].text) for i in (0, -1))
    assert low <= 2
    assert high >= 9

import math

import numpy as np
import pytest
from report_fixtures import make_record

from fewlabels.errors import InputError
from fewlabels.report import figures, series
from fewlabels.report.records import Record
from fewlabels.report.statistics import hoeffding


def text_of(figure) -> str:
    return " ".join(t.get_text() for axes in figure.axes for t in (axes.title, *axes.texts, *_legend(axes)))


def _legend(axes):
    return axes.get_legend().get_texts() if axes.get_legend() else []


def test_figure1_draws_a_line_for_each_number_of_labels_and_both_kinds_of_labels():
    runs = [make_record(labels=n, seed=s, data=d) for n in (250, 4000) for s in (0, 1) for d in ("cifar10", "svhn")]
    figure = figures.figure1(runs)
    cost, _, right, _ = figure.axes
    assert [t.get_text() for t in _legend(cost)] == ["250 labels", "4,000 labels"]
    assert [t.get_text() for t in _legend(right)] == ["ROT", "the classifier itself"]
    assert len(cost.lines) == 2
    ours, classifier = (line.get_ydata() for line in right.lines[:2])
    assert (np.asarray(ours) > np.asarray(classifier)).all()


def test_figure2_shows_the_quoted_numbers_apart_from_ours():
    runs = [make_record(labels=n, seed=s) for n in (250, 1000, 4000) for s in (0, 1)]
    runs.append(make_record(method="supervised", labels=45_000, unlabeled=0, error=0.05))
    figure = figures.figure2(runs)
    assert len(figure.axes) == 3
    labels = [t.get_text() for t in _legend(figure.axes[0])]
    assert labels == ["ROT, ours", "all labels, ours", "paper, all labels (quoted)", "paper, Table 1 (quoted)"]
    assert "no records yet" in text_of(figure)


def test_a_legend_stands_above_all_that_is_drawn():
    runs = [make_record(labels=n, seed=s, error=0.05 + 20 / n) for n in (250, 1000, 4000) for s in (0, 1)]
    runs.append(make_record(method="supervised", labels=45_000, unlabeled=0, error=0.13))
    figure = figures.figure2(runs, data=("cifar10",), extra=None)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    bottom = axes.get_legend().get_window_extent().y0
    tops = [line.get_window_extent().y1 for line in axes.lines]
    assert len(tops) > 3
    assert bottom > max(tops)


def test_what_is_taken_from_the_last_pool_to_all_images_is_said_beside_it():
    *_, below = figures.figure1([make_record()], data=("cifar10",)).axes
    assert below.get_ylabel() == "rightly labelled images,\nthe last pool’s share of all"


def test_images_that_are_not_here_are_said_to_be_missing():
    runs = [make_record(labels=n, data="svhn") for n in (250, 1000)]
    *_, panel = figures.figure2(runs, data=("svhn",), absent=True).axes
    assert panel.get_title(loc="left") == "b) SVHN, unlabelled images"
    assert [t.get_text() for t in panel.texts] == ["not run: the files of SVHN-extra\nare not on this machine"]


def test_epochs_are_whole():
    runs = [make_record(epochs=4)]
    figure = figures.figure1(runs, data=("cifar10",))
    cost = figure.axes[0]
    assert all(float(tick).is_integer() for tick in cost.get_xticks())


def test_appendix_f_holds_one_setting_still():
    values = (0.1, 0.25, 0.5, 0.75, 1.0)
    runs = [make_record(reg=reg, error=0.1 + reg / 10) for reg in values]
    runs += [make_record(alpha=alpha, error=0.3) for alpha in values if alpha != 1.0]
    assert series.sweep(runs, "reg").x == values
    assert series.sweep(runs, "alpha").x == values
    figure = figures.appendix_f(runs, "cifar10")
    assert [axes.get_xlabel() for axes in figure.axes] == ["validation images", "λ", "α"]


def test_small_validation_sets_have_the_error_of_the_whole_and_a_deviation_that_shrinks():
    found = series.small_validation([make_record(seed=s, error=0.2) for s in range(5)], (50, 250, 1000))
    assert [point.n for point in found.y] == [5 * 5 * 20, 5 * 5 * 4, 5]
    assert np.ptp(found.mean) < 1e-12
    deviations = [point.deviation for point in found.y]
    assert deviations == sorted(deviations, reverse=True)
    assert deviations[0] == pytest.approx(math.sqrt(0.2 * 0.8 / 50), rel=0.15)
    low, high = series.hoeffding_band(0.2, found.x)
    assert high[0] - 0.2 == pytest.approx(hoeffding(50))
    assert low[0] >= 0


def test_presets_never_share_a_figure():
    with pytest.raises(InputError, match="desk, smoke"):
        figures.figure1([make_record(), make_record(preset="smoke")])


def test_a_figure_of_nothing_says_so():
    assert text_of(figures.figure1([])).count("no records yet") == 4


def test_rightly_labelled_images_are_the_last_share_of_all_unlabelled_ones():
    run = Record("svhn", "rot", 10, 0, unlabeled=1000, curve={"pseudo_label_accuracy": (None, 0.5, 0.8, None)})
    assert series.rightly_labelled(run, "pseudo_label_accuracy") == 800
    assert series.rightly_labelled(run, "classifier_accuracy") is None


def test_the_same_records_give_the_same_files(tmp_path):
    runs = [make_record(seed=s) for s in (0, 1)]
    (tmp_path / "again").mkdir()
    svg, png = figures.save(figures.figure1(runs, data=("cifar10",)), tmp_path / "figure1")
    again, _ = figures.save(figures.figure1(runs, data=("cifar10",)), tmp_path / "again" / "figure1")
    assert svg.read_bytes() == again.read_bytes()
    assert png.read_bytes().startswith(b"\x89PNG")

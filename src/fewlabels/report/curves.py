"""The charts of a run and of several: errors, loss, transport cost, the accuracy of pseudo-labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fewlabels.report.charts import Drawn, Line, Mark, Point, draw
from fewlabels.report.names import percent, thousands
from fewlabels.report.records import Column, Record
from fewlabels.report.series import curve as spread_curve

Scaled = Callable[[float], float]
POINTS = 2400  # of all charts of a page's runs together, so that a page of many runs stays small


@dataclass(frozen=True)
class Kind:
    """A chart that is made of one or more columns of the curves."""

    title: str
    columns: Mapping[str, str]  # and what each is called
    unit: str
    about: str
    comparison: str = ""  # its title when several runs are in it


KINDS = (
    Kind("Validation error", {"validation_error": "validation error"}, "%", "After each epoch"),
    Kind("Loss", {"loss": "loss"}, "", "Mean over each epoch’s steps, Eq. (5)"),
    Kind(
        "Transport cost",
        {"transport_cost": "transport cost"},
        "",
        "Of the plan from clusters to classes, Eq. (3); with --solver bound a lower bound of it",
    ),
    Kind(
        "Right labels",
        {"pseudo_label_accuracy": "pseudo-labels", "classifier_accuracy": "classifier"},
        "%",
        "Share of the pool, by the pseudo-labels and by the classifier’s own answers",
        "Right pseudo-labels",
    ),
)


def run_charts(curve: Mapping[str, Column], record: Record, runs: int = 1) -> tuple[Drawn, ...]:
    """The charts of one run that have anything in them."""
    drawn = (_run_chart(kind, curve, record, runs) for kind in KINDS)
    return tuple(chart for chart in drawn if chart is not None)


def _run_chart(kind: Kind, curve: Mapping[str, Column], record: Record, runs: int) -> Drawn | None:
    scale = _scale(kind)
    lines = [
        Line(label, _points(curve, column, scale), tone=i) for i, (column, label) in enumerate(kind.columns.items())
    ]
    marks = _test_mark(record) if kind.title == "Validation error" and lines[0].points else ()
    about = kind.about
    if marks:
        about += "; with its 95 % interval, the test error at the epoch of lowest validation error"
    return draw(
        kind.title,
        lines,
        about=about,
        unit=kind.unit,
        text=_text(kind),
        marks=marks,
        most=max(40, POINTS // (10 * runs)),
    )


def _test_mark(record: Record) -> tuple[Mark, ...]:
    if record.test_error is None or record.best_epoch is None:
        return ()
    low, high = record.test_interval or (record.test_error, record.test_error)
    return (
        Mark(
            f"test error {percent(record.test_error)} %",
            record.best_epoch,
            100 * record.test_error,
            100 * low,
            100 * high,
            tone=1,
        ),
    )


def _points(curve: Mapping[str, Column], column: str, scale: Scaled) -> tuple[Point, ...]:
    values = curve.get(column, ())
    epochs = curve.get("epoch") or tuple(float(i + 1) for i in range(len(values)))
    return tuple((x, scale(y)) for x, y in zip(epochs, values, strict=False) if x is not None and y is not None)


def comparison_charts(groups: Sequence[tuple[str, int, Sequence[Record]]], most: int = 240) -> tuple[Drawn, ...]:
    """A line a group of repetitions, with its label and tone: the mean over seeds, with the deviation as a band."""
    drawn = []
    for kind in KINDS:
        column, scale = next(iter(kind.columns)), _scale(kind)
        lines = [_group_line(label, records, column, scale, tone) for label, tone, records in groups]
        about = kind.about.split(",")[0] + "; mean over seeds, the band is one deviation" * any(x.low for x in lines)
        title = kind.comparison or kind.title
        chart = draw(title, lines, about=about, unit=kind.unit, text=_text(kind), named=True, most=most)
        drawn += [] if chart is None else [chart]
    return tuple(drawn)


def _group_line(label: str, records: Sequence[Record], column: str, scale: Scaled, tone: int) -> Line:
    series = spread_curve(records, column, label)
    points = tuple((x, scale(y.mean)) for x, y in zip(series.x, series.y, strict=True))
    if not any(y.deviation for y in series.y):
        return Line(label, points, tone)
    ends = [
        tuple((x, scale(y.mean + sign * (y.deviation or 0.0))) for x, y in zip(series.x, series.y, strict=True))
        for sign in (-1, 1)
    ]
    return Line(label, points, tone, low=ends[0], high=ends[1])


def _scale(kind: Kind) -> Scaled:
    factor = 100.0 if kind.unit == "%" else 1.0
    return lambda value: factor * value


def _text(kind: Kind) -> Callable[[float], str]:
    return (lambda value: f"{value:.2f}") if kind.unit == "%" else (lambda value: _plain(value))


def _plain(value: float) -> str:
    return thousands(value) if abs(value) >= 10_000 else f"{value:.4g}"

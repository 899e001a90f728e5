"""The paper's figures from records alone, in its layout; quoted numbers beside ours. Needs ``fewlabels[figures]``.

The paper prints no numbers for its curves: what is quoted here are the errors of its tables, drawn as hollow diamonds.
Import this module where it is needed: it alone asks for matplotlib.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fewlabels.errors import InputError
from fewlabels.report import series as numbers
from fewlabels.report.names import data_name, labels_name, method_name, thousands
from fewlabels.report.palette import FAINT, INK, MARKERS, MUTED, colour
from fewlabels.report.quoted import quote
from fewlabels.report.records import Record
from fewlabels.report.series import Series
from fewlabels.report.statistics import Spread

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise InputError(
        "figures are drawn with matplotlib, which is not installed: pip install 'fewlabels[figures]'"
    ) from error

STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.85,
    "legend.fontsize": 8,
    "lines.linewidth": 1.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "fewlabels",  # the same records give the same file
    "savefig.dpi": 200,
}
WIDTH, HEIGHT = 3.4, 2.7  # inches a panel
NOTHING = "no records yet"
RIGHT = "rightly labelled images,\nthe last pool’s share of all"
ROOM, MOST = 0.1, 0.6  # of an axis, left above all that is drawn: for each line of a legend, and at most


def figure1(records: Sequence[Record], *, data: Sequence[str] = ("cifar10", "svhn"), method: str = "rot") -> Figure:
    """Fig. 1: above, the transport cost by epoch; below, how many images the method and the classifier label rightly.

    One column a data set; one line a number of labels above, number of labels along x below.
    """
    mine = [r for r in records if r.method == method and r.data in data]
    with _panels(mine, 2, len(data)) as (figure, axes):
        for j, name in enumerate(data):
            runs = [r for r in mine if r.data == name]
            transport_cost(axes[0][j], runs, f"{'abcdefgh'[j]}) {data_name(name)}")
            rightly_labelled(axes[1][j], runs, f"{'abcdefgh'[len(data) + j]}) {data_name(name)}", method)
    return figure


def figure2(
    records: Sequence[Record],
    *,
    data: Sequence[str] = ("cifar10", "svhn"),
    extra: str | None = "svhn-extra",
    method: str = "rot",
    absent: bool = False,
) -> Figure:
    """Fig. 2: test error for varying labels, one panel a data set, and for varying unlabelled images from ``extra``.

    With ``absent`` the last panel says that these images are not here, instead of that nobody has run it yet.
    """
    mine = [r for r in records if r.data in {*data, extra} and (r.method == method or _reference(r))]
    with _panels(mine, 1, len(data) + (extra is not None)) as (figure, axes):
        for j, name in enumerate(data):
            error_by_labels(axes[0][j], [r for r in mine if r.data == name], f"{'abc'[j]}) {data_name(name)}", method)
        if extra is not None:
            runs = [r for r in mine if r.data == extra and r.method == method]
            title = f"{'abcd'[len(data)]}) {data_name(extra.removesuffix('-extra'))}, unlabelled images"
            nothing = f"not run: the files of {data_name(extra)}\nare not on this machine" if absent else NOTHING
            error_by_unlabeled(axes[0][len(data)], runs, title, nothing)
    return figure


def appendix_f(records: Sequence[Record], data: str, *, method: str = "rot") -> Figure:
    """Fig. 3 (SVHN) and Fig. 4 (CIFAR-10): small validation sets and Hoeffding's bound; sweeps of lambda and alpha."""
    mine = [r for r in records if r.data == data and r.method == method]
    with _panels(mine, 1, 3) as (figure, axes):
        name = data_name(data)
        main = [r for r in mine if _at_rest(r)]
        error_by_validation_size(axes[0][0], main, f"a) {name}: validation size")
        error_by_setting(axes[0][1], mine, "reg", f"b) {name}: λ, with α = {numbers.LOSS_ALPHA:g}")
        error_by_setting(axes[0][2], mine, "alpha", f"c) {name}: α, with λ = {numbers.PLAN_REG:g}")
    return figure


def save(figure: Figure, out: Path) -> tuple[Path, Path]:
    """Write ``out`` with the endings ``.svg`` and ``.png``; both paths."""
    svg, png = out.with_suffix(".svg"), out.with_suffix(".png")
    with mpl.rc_context(STYLE):
        figure.savefig(svg, metadata={"Date": None})
        figure.savefig(png)
    return svg, png


def transport_cost(axes: Axes, records: Sequence[Record], title: str) -> None:
    """Fig. 1 a, b: <T, X> of Eq. (3) by epoch, a line for each number of labels."""
    counts = sorted({r.labels for r in records})
    found = [
        numbers.curve([r for r in records if r.labels == count], "transport_cost", labels_name(count))
        for count in counts
    ]
    _lines(axes, [series for series in found if series.x], markers=False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _finish(axes, title, "epoch", "transport cost ⟨T, X⟩", any(series.x for series in found))


def rightly_labelled(axes: Axes, records: Sequence[Record], title: str, method: str = "rot") -> None:
    """Fig. 1 c, d: rightly labelled images by number of labels, the method's labels and the classifier's own."""
    columns = {"pseudo_label_accuracy": method_name(method), "classifier_accuracy": "the classifier itself"}
    found = []
    for column, label in columns.items():
        series = numbers.along(records, lambda r: r.labels, lambda r, c=column: numbers.rightly_labelled(r, c))  # type: ignore[misc]
        found.append(Series(label, series.x, series.y))
    _lines(axes, found)
    _counts(axes, sorted({x for series in found for x in series.x}))
    axes.yaxis.set_major_formatter(lambda value, _: thousands(value))
    _finish(axes, title, "labelled images", RIGHT, any(series.x for series in found))


def error_by_labels(axes: Axes, records: Sequence[Record], title: str, method: str = "rot") -> None:
    """Fig. 2 a, b: test error by number of labels; the paper's Table 1 and its error with all labels beside it."""
    runs = [r for r in records if not _reference(r)]
    series = numbers.along(runs, lambda r: r.labels, lambda r: _percent(r.reported_error))
    _lines(axes, [Series(f"{method_name(method)}, ours", series.x, series.y)])
    if reference := [r for r in records if _reference(r)]:
        level = numbers.along(reference, lambda _: 0, lambda r: _percent(r.reported_error)).mean
        if len(level):
            axes.axhline(level[0], color=INK, linewidth=1, linestyle=(0, (1, 2)), label="all labels, ours")
    _quoted_labels(axes, {r.data for r in records}, method)
    _counts(axes, series.x)
    _finish(axes, title, "labelled images", "test error, %", bool(series.x))


def error_by_unlabeled(axes: Axes, records: Sequence[Record], title: str, nothing: str = NOTHING) -> None:
    """Fig. 2 c: test error by number of unlabelled images."""
    series = numbers.along(records, lambda r: r.unlabeled, lambda r: _percent(r.reported_error))
    _lines(axes, [Series("ours", series.x, series.y)])
    _counts(axes, series.x)
    _finish(axes, title, "unlabelled images", "test error, %", bool(series.x), nothing)


def error_by_validation_size(axes: Axes, records: Sequence[Record], title: str) -> None:
    """App. F, a: mean and deviation over small validation sets, and Hoeffding's bound at 95 %."""
    total = min((r.validation_total or 0 for r in records if r.validation_wrong is not None), default=0)
    found = numbers.small_validation(records, numbers.validation_sizes(total)) if total else Series("", (), ())
    if found.x:
        middle = float(found.mean[-1])
        low, high = numbers.hoeffding_band(middle, found.x)
        axes.fill_between(found.x, 100 * low, 100 * high, color=FAINT, linewidth=0, label="Hoeffding, 95 %")
        _lines(axes, [Series("mean ± deviation", found.x, tuple(_percent_spread(s) for s in found.y))])
    _counts(axes, found.x)
    _finish(axes, title, "validation images", "validation error, %", bool(found.x))


def error_by_setting(axes: Axes, records: Sequence[Record], knob: str, title: str) -> None:
    """App. F, b and c: validation error along lambda (``"reg"``) or alpha, the other held still."""
    found = numbers.sweep(records, knob)
    _lines(axes, [Series("ours", found.x, tuple(_percent_spread(s) for s in found.y))])
    if found.x:
        axes.set_xticks(found.x, [f"{value:g}" for value in found.x])
    _finish(axes, title, "λ" if knob == "reg" else "α", "validation error, %", bool(found.x))


@contextmanager
def _panels(records: Sequence[Record], rows: int, columns: int) -> Iterator[tuple[Figure, Any]]:
    """A figure with its panels, in our style; its footer says what the records are."""
    numbers.one_preset(records)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH * columns, HEIGHT * rows + 0.25), layout="constrained")
        yield figure, figure.subplots(rows, columns, squeeze=False)
        figure.supxlabel(_footer(records), fontsize=7.5, color=MUTED)


def _footer(records: Sequence[Record]) -> str:
    if not records:
        return "no records"
    budgets = ", ".join(sorted({str(r.budget) for r in records}))
    seeds = sorted({r.seed for r in records})
    preset = records[0].preset or "none"
    return f"preset {preset}; {budgets}; {len(records)} runs, {len(seeds)} seed{'s' * (len(seeds) != 1)}"


def _lines(axes: Axes, found: Sequence[Series], *, markers: bool = True) -> None:
    for i, series in enumerate(found):
        ends: dict[str, Any] = (
            {"marker": MARKERS[i % len(MARKERS)], "markersize": 4.5} if markers or len(series.x) == 1 else {}
        )
        axes.plot(series.x, series.mean, color=colour(i), label=series.label, **ends)
        if any(point.n > 1 for point in series.y):
            low, high = series.mean - series.deviation, series.mean + series.deviation
            axes.fill_between(series.x, low, high, color=colour(i), alpha=0.15, linewidth=0)
            if markers:
                axes.errorbar(
                    series.x, series.mean, series.deviation, fmt="none", ecolor=colour(i), capsize=2, elinewidth=1
                )


def _finish(axes: Axes, title: str, x: str, y: str, drawn: bool, nothing: str = NOTHING) -> None:
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if not drawn:
        axes.set(xticks=[], yticks=[])
        axes.text(0.5, 0.5, nothing, transform=axes.transAxes, ha="center", va="center", color=MUTED)
    elif (lines := len(axes.get_legend_handles_labels()[1])) > 1:
        low, high = axes.get_ylim()
        axes.set_ylim(low, low + (high - low) / (1 - min(ROOM * lines, MOST)))
        axes.legend(loc="upper right")


def _counts(axes: Axes, counts: Sequence[float]) -> None:
    """A logarithmic axis whose ticks are the counts that were run."""
    if counts:
        axes.set_xscale("log")
        axes.set_xticks(counts, [thousands(count) for count in counts], rotation=45 if len(counts) > 5 else 0)
        axes.minorticks_off()


def _quoted_labels(axes: Axes, data: set[str], method: str) -> None:
    """The paper's own numbers, drawn so that nobody takes them for ours."""
    (name,) = data if len(data) == 1 else (None,)
    if name is None:
        return
    for count in (1000, 4000):
        if (found := quote(method, name, count)) is not None:
            point: dict[str, Any] = {
                "marker": "D",
                "markersize": 6,
                "markerfacecolor": "none",
                "color": MUTED,
                "linestyle": "none",
            }
            bar = 100 * (found.deviation or 0.0)
            axes.errorbar([count], [100 * found.mean], bar, label="paper, Table 1 (quoted)", capsize=2, **point)
    if (found := quote("supervised", name, None)) is not None:
        axes.axhline(
            100 * found.mean, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), label="paper, all labels (quoted)"
        )


def _reference(record: Record) -> bool:
    """The fully supervised run on all labels."""
    return record.method == "supervised" and record.unlabeled == 0


def _at_rest(record: Record) -> bool:
    """A run at the settings that the sweeps of App. F hold still, or one whose record does not say."""
    reg, alpha = record.setting("reg"), record.setting("alpha")
    return reg in (None, numbers.PLAN_REG) and alpha in (None, numbers.LOSS_ALPHA)


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction


def _percent_spread(found: Spread) -> Spread:
    return Spread(100 * found.mean, _percent(found.deviation), found.n)

"""Line charts: what is to be drawn, and where everything stands in percent of the plot.

The template draws with percentages and strokes that do not scale, so that a chart fits any width and its text keeps its
size. What a chart shows is also a table, for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fewlabels.report.scale import Scale, nice, within

HEIGHT = 220  # pixels of the plot
APART = 17  # pixels between two labels
Format = Callable[[float], str]
Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """A curve; ``low`` and ``high`` are its band, where there is one. Its tone is a number of the palette."""

    label: str
    points: tuple[Point, ...]
    tone: int = 0
    low: tuple[Point, ...] = ()
    high: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Mark:
    """A point of its own, with its interval and its name."""

    label: str
    x: float
    y: float
    low: float
    high: float
    tone: int = 0


@dataclass(frozen=True)
class Tick:
    """A tick's place in percent, and its text."""

    at: float
    text: str


@dataclass(frozen=True)
class Label:
    """A line's name at its end, in pixels from the top."""

    text: str
    top: float
    tone: int


@dataclass(frozen=True)
class Dot:
    """A mark's place in percent from the left and the top."""

    label: str
    x: float
    y: float
    low: float
    high: float
    tone: int


@dataclass(frozen=True)
class Drawn:
    """A chart ready for the template."""

    title: str
    about: str
    x_name: str
    unit: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    paths: tuple[tuple[str, int], ...]
    bands: tuple[tuple[str, int], ...]
    dots: tuple[Dot, ...]
    labels: tuple[Label, ...]
    gutter: int
    head: tuple[str, ...]
    rows: tuple[tuple[float, tuple[str, ...]], ...]  # place along x, cells

    @property
    def height(self) -> int:
        """The plot's height in pixels."""
        return HEIGHT


def draw(
    title: str,
    lines: Sequence[Line],
    *,
    about: str = "",
    x_name: str = "Epoch",
    unit: str = "",
    text: Format = "{:.3g}".format,
    marks: Sequence[Mark] = (),
    most: int = 240,
) -> Drawn | None:
    """Lay a chart out; None if there is nothing to draw. Curves of more than ``most`` points are thinned.

    >>> drawn = draw("Loss", [Line("loss", ((1, 2.0), (2, 1.0)))])
    >>> drawn.paths, drawn.head, drawn.rows
    ((('M0 0L100 100', 0),), ('Epoch', 'loss'), ((0.0, ('1', '2')), (100.0, ('2', '1'))))
    """
    lines = [_thin(line, most) for line in lines if line.points]
    if not lines:
        return None
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for part in (line.points, line.low, line.high) for _, y in part]
    ys += [y for mark in marks for y in (mark.low, mark.high)]
    x, y = within(min(xs), max(xs)), nice(min(ys), max(ys))
    named = len(lines) > 1
    return Drawn(
        title=title,
        about=about,
        x_name=x_name,
        unit=unit,
        x_ticks=tuple(Tick(x.percent(tick), f"{tick:,.0f}") for tick in x.ticks),
        y_ticks=tuple(Tick(100 - y.percent(tick), f"{tick:g}") for tick in y.ticks),
        paths=tuple((_path(line.points, x, y), line.tone) for line in lines),
        bands=tuple((_path((*line.high, *reversed(line.low)), x, y) + "Z", line.tone) for line in lines if line.low),
        dots=tuple(
            Dot(m.label, x.percent(m.x), 100 - y.percent(m.y), 100 - y.percent(m.low), 100 - y.percent(m.high), m.tone)
            for m in marks
        ),
        labels=_labels(lines, y) if named else (),
        gutter=min(170, round(16 + 7.4 * max(len(line.label) for line in lines))) if named else 10,
        head=(x_name, *(line.label for line in lines)),
        rows=_rows(lines, x, text),
    )


def _thin(line: Line, most: int) -> Line:
    """Every n-th point, counted from the end, so that the last one stays."""
    every = -(-len(line.points) // most)
    if every <= 1:
        return line
    keep = slice((len(line.points) - 1) % every, None, every)
    return Line(line.label, line.points[keep], line.tone, line.low[keep], line.high[keep])


def _path(points: Sequence[Point], x: Scale, y: Scale) -> str:
    return "M" + "L".join(f"{x.percent(a):g} {100 - y.percent(b):.5g}" for a, b in points)


def _labels(lines: Sequence[Line], y: Scale) -> tuple[Label, ...]:
    """Names at the ends of the lines, moved apart where they would touch."""
    wanted = sorted(
        (Label(line.label, HEIGHT * (1 - y.percent(line.points[-1][1]) / 100), line.tone) for line in lines),
        key=lambda label: label.top,
    )
    return tuple(Label(label.text, top, label.tone) for label, top in zip(wanted, _apart(wanted), strict=True))


def _apart(wanted: Sequence[Label]) -> list[float]:
    tops: list[float] = []
    for label in wanted:
        tops.append(max(label.top, tops[-1] + APART) if tops else label.top)
    lowest = float(HEIGHT)
    for i in reversed(range(len(tops))):  # push up what fell out below
        tops[i] = round(min(tops[i], lowest), 1)
        lowest = tops[i] - APART
    return tops


def _rows(lines: Sequence[Line], x: Scale, text: Format) -> tuple[tuple[float, tuple[str, ...]], ...]:
    columns = [dict(line.points) for line in lines]
    places = sorted({place for column in columns for place in column})
    return tuple(
        (x.percent(p), (f"{p:,.0f}", *("" if p not in column else text(column[p]) for column in columns)))
        for p in places
    )

"""Line charts: what is to be drawn, and where everything stands in percent of the plot.

The template draws with percentages and strokes that do not scale, so that a chart fits any width and its text keeps its
size. What a chart shows is also a table, for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fewlabels.report.scale import Scale, nice, within

HEIGHT = 220  # pixels of the plot
APART = 17  # pixels between two names
FITS = 16  # letters of the longest name that finds room at the end of its line
MARKERS = 8  # about so many on a line
EARLY = 1 / 5  # of the way along x, in which a curve may come from far outside the frame
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

    def values(self, early: float = 0.0) -> list[float]:
        """What the curve and its band need room for, but for the first part of the way."""
        first, last = self.points[0][0], self.points[-1][0]
        start = first + early * (last - first)
        return [y for part in (self.points, self.low, self.high) for x, y in part if x >= start]


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

    x: float
    y: float
    low: float
    high: float
    tone: int


@dataclass(frozen=True)
class Drawn:
    """A chart ready for the template. Names stand at the ends of the lines if there is room, and else in the legend."""

    title: str
    about: str
    x_name: str
    unit: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    paths: tuple[tuple[str, int], ...]
    bands: tuple[tuple[str, int], ...]
    markers: tuple[tuple[float, float, int], ...]  # from the left, from the top, tone
    dots: tuple[Dot, ...]
    labels: tuple[Label, ...]
    legend: tuple[tuple[str, int], ...]
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
    named: bool = False,
    most: int = 240,
) -> Drawn | None:
    """Lay a chart out; None if there is nothing to draw. Curves of more than ``most`` points are thinned.

    What is drawn is told apart by its name; with ``named`` also the only curve says which one it is.

    >>> drawn = draw("Loss", [Line("loss", ((1, 2.0), (2, 1.0)))])
    >>> drawn.paths, drawn.head, drawn.rows
    ((('M0 0L100 100', 0),), ('Epoch', 'loss'), ((0.0, ('1', '2')), (100.0, ('2', '1'))))
    """
    lines = [_thin(line, most) for line in lines if line.points]
    if not lines:
        return None
    xs = [x for line in lines for x, _ in line.points]
    x, y = within(min(xs), max(xs)), _heights(lines, marks)
    inside = [_inside(line, y) for line in lines]
    cut = any(seen.points != line.points for seen, line in zip(inside, lines, strict=True))
    drawn: list[Line | Mark] = [*lines, *marks]
    legend = tuple((thing.label, thing.tone) for thing in drawn) if named or len(drawn) > 1 else ()
    labels = _labels(inside, y) if legend and not marks and max(len(line.label) for line in lines) <= FITS else ()
    return Drawn(
        title=title,
        about=about + "; the first epochs are outside the frame" * cut,
        x_name=x_name,
        unit=unit,
        x_ticks=tuple(Tick(x.percent(tick), f"{tick:,.0f}") for tick in x.ticks),
        y_ticks=tuple(Tick(100 - y.percent(tick), f"{tick:g}") for tick in y.ticks),
        paths=tuple((_path(line.points, x, y), line.tone) for line in inside),
        bands=tuple((_path((*line.high, *reversed(line.low)), x, y) + "Z", line.tone) for line in inside if line.low),
        markers=tuple(marker for line in lines for marker in _markers(line, x, y)) if legend else (),
        dots=tuple(
            Dot(x.percent(m.x), 100 - y.percent(m.y), 100 - y.percent(m.low), 100 - y.percent(m.high), m.tone)
            for m in marks
        ),
        labels=labels,
        legend=legend,
        gutter=round(16 + 7.4 * max(len(label.text) for label in labels)) if labels else 10,
        head=(x_name, *(line.label for line in lines)),
        rows=_rows(lines, x, text),
    )


def _thin(line: Line, most: int) -> Line:
    """Every n-th point, counted from the end, so that the last one stays."""
    every = -(-len(line.points) // most)
    if every <= 1:
        return line
    keep = slice((len(line.points) - 1) % every, None, every)
    return replace(line, points=line.points[keep], low=line.low[keep], high=line.high[keep])


def _heights(lines: Sequence[Line], marks: Sequence[Mark]) -> Scale:
    """An axis for all values; without the first ones where they would press all others into a third of the height.

    >>> _heights([Line("error", ((1, 90.0), (2, 6.0), (3, 5.0), (4, 5.5)))], ()).ticks
    (5.0, 5.2, 5.4, 5.6, 5.8, 6.0)
    """
    ends = [value for mark in marks for value in (mark.low, mark.high)]
    every = [*ends, *(value for line in lines for value in line.values())]
    later = [*ends, *(value for line in lines for value in line.values(EARLY))]
    shown = later if 0 < _span(later) < _span(every) / 3 else every
    return nice(min(shown), max(shown))


def _span(values: Sequence[float]) -> float:
    return max(values) - min(values)


def _inside(line: Line, y: Scale) -> Line:
    """What the frame holds of a line."""
    points = _entering(line.points, y)
    low, high = (tuple(point for point in edge if point[0] >= points[0][0]) for edge in (line.low, line.high))
    return replace(line, points=points, low=low, high=high)


def _entering(points: tuple[Point, ...], y: Scale) -> tuple[Point, ...]:
    """A curve from where it comes into the frame to stay.

    >>> _entering(((1, 30.0), (2, 10.0), (3, 5.0)), nice(0, 20))
    ((1.5, 20.0), (2, 10.0), (3, 5.0))
    """
    outside = [i for i, (_, value) in enumerate(points) if not y.low <= value <= y.high]
    if not outside or outside[-1] + 1 == len(points):
        return points
    (x0, y0), (x1, y1) = points[outside[-1] : outside[-1] + 2]
    edge = y.high if y0 > y.high else y.low
    return ((x0 + (x1 - x0) * (edge - y0) / (y1 - y0), edge), *points[outside[-1] + 1 :])


def _path(points: Sequence[Point], x: Scale, y: Scale) -> str:
    return "M" + "L".join(f"{x.percent(a):g} {100 - y.percent(b):.5g}" for a, b in points)


def _markers(line: Line, x: Scale, y: Scale) -> list[tuple[float, float, int]]:
    """Some of the points; lines of other tones have theirs at other points, so that none hides behind another."""
    inside = [point for point in line.points if y.low <= point[1] <= y.high]
    every = max(1, -(-len(inside) // MARKERS))
    return [
        (x.percent(a), round(100 - y.percent(b), 2), line.tone) for a, b in inside[::-1][line.tone % every :: every]
    ]


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

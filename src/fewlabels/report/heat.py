"""Matrices as heat maps: a table whose cells are shaded, or, where there are too many classes for one, a picture."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fewlabels.report.names import percent, thousands
from fewlabels.report.runs import Plan

READABLE = 20  # more classes than this do not fit a table that anybody reads


@dataclass(frozen=True)
class Cell:
    """A number, the share of its row (0 to 1) that shades it, and whether it is where it should be."""

    text: str
    share: float
    right: bool = False


@dataclass(frozen=True)
class Heat:
    """A shaded matrix. ``picture`` stands for the cells when there are too many; ``told`` says the main ones."""

    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    told: tuple[str, ...]
    picture: str | None = None


def confusion(matrix: Sequence[Sequence[int]], classes: Sequence[str]) -> Heat:
    """The confusion matrix, truth in rows, and the commonest mistakes.

    >>> confusion([[8, 2], [0, 10]], ["cat", "dog"]).told
    ('cat taken for dog: 2, 20.0 % of its images',)
    """
    counts = np.array(matrix)
    shares = _by_row(counts)
    names = _names(classes, len(counts))
    off = [(int(counts[i, j]), i, j) for i, j in zip(*np.nonzero(counts), strict=True) if i != j]
    told = tuple(
        f"{names[i]} taken for {names[j]}: {thousands(n)}, {percent(shares[i, j], 1)} % of its images"
        for n, i, j in sorted(off, key=lambda mistake: -mistake[0])[:5]
    )
    texts = [[thousands(n) if n else "" for n in row] for row in counts.tolist()]
    return _heat("truth / answer", names, names, texts, shares, np.eye(len(counts), dtype=np.bool_), told)


def plan(found: Plan) -> Heat:
    """The transport plan: where each cluster's mass goes, in percent of it; clusters in the order of their classes.

    >>> heat = plan(Plan(np.array([[0.1, 0.4], [0.5, 0.0]]), None, ("cat", "dog")))
    >>> heat.rows[0][0], [cell.text for cell in heat.rows[0][1]]
    ('2 (50.0 %)', ['100', ''])
    """
    shares, choice = _by_row(found.plan), found.plan.argmax(axis=1)
    order = np.lexsort((np.arange(len(choice)), choice))
    classes = _names(found.classes, found.plan.shape[1])
    masses = found.plan.sum(axis=1) / found.plan.sum()
    names = tuple(f"{i + 1} ({percent(masses[i], 1)} %)" for i in order)
    shares, chosen = shares[order], np.zeros_like(shares, dtype=np.bool_)
    chosen[np.arange(len(order)), choice[order]] = True
    texts = [[f"{100 * share:.0f}" if share >= 0.005 else "" for share in row] for row in shares.tolist()]
    return _heat("cluster / class", names, classes, texts, shares, chosen, _collisions(choice, classes))


def _collisions(choice: NDArray[np.int64], classes: Sequence[str]) -> tuple[str, ...]:
    """Classes that several clusters chose, and those that none did."""
    counts = np.bincount(choice, minlength=len(classes))
    several = [f"{n} clusters give the label {name}" for n, name in zip(counts, classes, strict=True) if n > 1]
    none = [name for n, name in zip(counts, classes, strict=True) if n == 0]
    return (*several[:5], *([f"no cluster gives the label {', '.join(none[:5])}"] if none else []))


def _by_row(matrix: NDArray[np.generic]) -> NDArray[np.float64]:
    values = matrix.astype(np.float64)
    return values / np.maximum(values.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)


def _names(classes: Sequence[str], count: int) -> tuple[str, ...]:
    return tuple(classes) if len(classes) == count else tuple(str(j) for j in range(count))


def _heat(
    corner: str,
    rows: Sequence[str],
    columns: Sequence[str],
    texts: Sequence[Sequence[str]],
    shares: NDArray[np.float64],
    right: NDArray[np.bool_],
    told: tuple[str, ...],
) -> Heat:
    if max(shares.shape) > READABLE:
        return Heat(corner, tuple(columns), (), told, _picture(shares))
    body = tuple(
        (rows[i], tuple(Cell(texts[i][j], round(float(s), 3), bool(right[i, j])) for j, s in enumerate(line)))
        for i, line in enumerate(shares)
    )
    return Heat(corner, tuple(columns), body, told)


def _picture(shares: NDArray[np.float64]) -> str:
    """Only opacities, so that the page can colour them for light and for dark."""
    alpha = np.round(255 * np.sqrt(shares)).astype(np.uint8)
    ink = np.zeros_like(alpha)
    out = io.BytesIO()
    Image.merge("LA", (Image.fromarray(ink), Image.fromarray(alpha))).save(out, "PNG", optimize=True)
    return data_uri("image/png", out.getvalue())


def data_uri(kind: str, content: bytes) -> str:
    """Content inside a page.

    >>> data_uri("image/png", b"abc")
    'data:image/png;base64,YWJj'
    """
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"

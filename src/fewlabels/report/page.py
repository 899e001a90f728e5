"""The report: one page that opens from disk and asks nobody for anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fewlabels import __version__
from fewlabels.errors import InputError, RunError
from fewlabels.report.comparison import compare
from fewlabels.report.names import thousands
from fewlabels.report.palette import DARK, LIGHT
from fewlabels.report.runs import Run, read_runs
from fewlabels.report.sprite import Sprite, make_sprite
from fewlabels.report.view import View, title, view

LIMIT = 1_500_000  # bytes of a page
PICTURES = 700_000  # of them for pictures, shared among the runs
GENERATOR = "fewlabels report"


def write(paths: Sequence[Path], out: Path) -> Path:
    """Write the report of run folders, record files, or folders of either to ``out``, an ``.html`` file; its path.

    A report that stands there already is replaced; any other file is not.
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"the report is a page, and {out} does not end in .html: choose another --out")
    _refuse_foreign(out)
    page = render(read_runs(paths))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        beside = out.with_name(out.name + ".part")
        beside.write_text(page, encoding="utf-8")
        beside.replace(out)
    except OSError as error:
        raise RunError(f"could not write {out}: {error}") from error
    return out


def _refuse_foreign(out: Path) -> None:
    if not out.exists():
        return
    if out.is_dir() or GENERATOR not in out.read_text(encoding="utf-8", errors="replace")[:2000]:
        raise InputError(f"{out} exists and is not a report of ours: choose another --out, or remove it")


def render(runs: Sequence[Run]) -> str:
    """The page as HTML. Runs whose own parts would make it larger than ``LIMIT`` are named, not shown."""
    environment = _environment()
    keys = [f"run-{i}" for i in range(1, len(runs) + 1)]
    several = len(runs) > 1
    part = environment.get_template("run.html")
    page = environment.get_template("page.html")
    facts = {
        "title": title(runs[0].record) if not several else f"{thousands(len(runs))} runs compared",
        "comparison": compare(runs, keys) if several else None,
        "several": several,
        "version": __version__,
        "generator": GENERATOR,
        "light": LIGHT,
        "dark": DARK,
    }
    room = LIMIT - len(page.render(**facts, views=(), parts=(), left_out=()).encode()) - 20_000
    views: list[View] = []
    parts: list[Markup] = []
    for run, key in zip(runs, keys, strict=True):
        shown = view(run, key, _sprite(run, PICTURES // _with_pictures(runs)), len(runs))
        text = part.render(run=shown, several=several)
        size = len(text.encode())
        if size > room:
            break
        room -= size
        views.append(shown)
        parts.append(Markup(text))
    left_out = [run.name for run in runs[len(views) :]]
    return page.render(**facts, views=views, parts=parts, left_out=left_out)


def _with_pictures(runs: Iterable[Run]) -> int:
    return max(1, sum(run.gallery is not None for run in runs))


def _sprite(run: Run, limit: int) -> Sprite | None:
    return None if run.gallery is None else make_sprite(run.gallery, limit)


def _environment() -> Environment:
    """Templates beside this file; whatever a record says is escaped."""
    folder = Path(__file__).parent / "templates"
    return Environment(
        loader=FileSystemLoader(folder, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

"""The report: one page that opens from disk and asks nobody for anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from fewlabels import __version__
from fewlabels.errors import InputError, RunError
from fewlabels.report.comparison import Block, compare
from fewlabels.report.names import thousands
from fewlabels.report.palette import DARK, LIGHT, OUTLINES
from fewlabels.report.runs import Run, read_runs
from fewlabels.report.sprite import Sprite, make_sprite
from fewlabels.report.view import View, title, view

LIMIT = 1_500_000  # bytes of a page
SPARE = 20_000  # of them for what is said of everything that was left out
BLOCK = 4_000  # of them at least for a block of a comparison
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
    """The page as HTML. What would make it larger than ``LIMIT`` is named, not shown: seeds and curves of a comparison,
    and runs' own parts."""
    environment = _environment()
    keys = [f"run-{i}" for i in range(1, len(runs) + 1)]
    several = len(runs) > 1
    page = environment.get_template("page.html")
    facts = {
        "title": f"{thousands(len(runs))} runs compared" if several else title(runs[0].record),
        "several": several,
        "version": __version__,
        "generator": GENERATOR,
        "light": LIGHT,
        "dark": DARK,
        "outlines": tuple(OUTLINES.values()),
    }
    nothing = {"blocks": (), "views": (), "parts": (), "unseen_blocks": (), "unseen_runs": ()}
    room = LIMIT - SPARE - _size(page.render(**facts, **nothing))
    compared = compare(runs, keys) if several else ()
    blocks = _blocks(compared, environment.get_template("block.html"), keys, room)
    room -= sum(size for _, size in blocks)
    views, parts = _parts(runs, keys, environment.get_template("run.html"), room)
    return page.render(
        **facts,
        blocks=[block for block, _ in blocks],
        views=views,
        parts=parts,
        unseen_blocks=[block.title for block in compared[len(blocks) :]],
        unseen_runs=[run.name for run in runs[len(views) :]],
    )


def _blocks(blocks: Sequence[Block], template: Template, keys: Sequence[str], room: int) -> list[tuple[Block, int]]:
    """The blocks, each as full as its share of the room allows, and their sizes; what one leaves the next ones have."""
    fitting: list[tuple[Block, int]] = []
    for i, block in enumerate(blocks):
        share = min(room, max(BLOCK, room // (len(blocks) - i)))
        sizes = ((form, _size(template.render(block=form, n=i + 1, keys=keys))) for form in block.smaller())
        found = next(((form, size) for form, size in sizes if size <= share), None)
        if found is None:
            break
        fitting.append(found)
        room -= found[1]
    return fitting


def _parts(runs: Sequence[Run], keys: Sequence[str], template: Template, room: int) -> tuple[list[View], list[Markup]]:
    """The runs' own parts, as many from the first on as there is room for."""
    views: list[View] = []
    parts: list[Markup] = []
    for run, key in zip(runs, keys, strict=True):
        shown = view(run, key, _sprite(run, PICTURES // _with_pictures(runs)), len(runs))
        text = template.render(run=shown, several=len(runs) > 1)
        room -= _size(text)
        if room < 0:
            break
        views.append(shown)
        parts.append(Markup(text))
    return views, parts


def _size(text: str) -> int:
    return len(text.encode())


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

"""What holds for the whole package: which way imports point, what importing costs, what is public."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fewlabels

ROOT = Path(fewlabels.__file__).parent
PROJECT = ROOT.parents[1]

# What each part may import of ours, besides itself and `errors`.
MAY_IMPORT = {
    "errors": set(),
    "ot": set(),
    "data": set(),
    "models": set(),
    "report": set(),
    "labels": {"ot"},
    "methods": {"ot", "labels", "models"},
    "train": {"ot", "labels", "methods", "data", "models", "report"},
    "estimators": {"ot", "labels", "methods", "data", "models", "train"},
    "api": {"data", "models", "train", "methods"},
    "progress": {"train", "report"},
    "experiments": {"train", "report", "methods", "models", "data", "labels", "ot"},
    "__main__": {"cli"},
    "cli": {"api", "progress", "experiments", "train", "report", "data", "methods"},
}
FILES = sorted(path for path in ROOT.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "fewlabels" else [f"fewlabels.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("fewlabels.")}
    return found - {"errors", "__version__"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    part = part_of(path)
    if part != "__init__":  # the door to all of them
        assert imported(path) <= MAY_IMPORT[part] | {part}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys, json; {statement}; print(json.dumps(sorted(m.split('.')[0] for m in sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_the_package_and_its_help_load_no_torch():
    assert not {"torch", "sklearn", "scipy", "numpy"} & loaded_by("import fewlabels")
    assert "torch" not in loaded_by("import fewlabels.cli")


def test_a_report_needs_no_torch():
    assert "torch" not in loaded_by("import fewlabels.report.page, fewlabels.report.tables")


def test_every_public_name_is_there():
    for name in fewlabels.__all__:
        assert getattr(fewlabels, name) is not None
    assert set(fewlabels.__all__) <= set(dir(fewlabels))
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        fewlabels.fitt  # noqa: B018


@pytest.mark.skipif(not (PROJECT / "docs/paper.md").is_file(), reason="an installed copy has no docs")
def test_every_record_file_that_a_page_names_is_there():
    pages = [PROJECT / "README.md", PROJECT / "results/README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
    for page in pages:
        for name in re.findall(r"results/[\w/.-]*\w", page.read_text(encoding="utf-8")):
            assert (PROJECT / name).exists(), f"{page.name} names {name}"


@pytest.mark.skipif(not (PROJECT / "docs/paper.md").is_file(), reason="an installed copy has no docs")
def test_the_map_of_the_paper_names_files_and_functions_that_exist():
    text = (PROJECT / "docs/paper.md").read_text(encoding="utf-8")
    places = re.findall(r"`([\w/]+\.py):(\w+)`", text)
    assert len(places) > 20
    for file, name in places:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        there = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        there |= {
            t.id for node in tree.body if isinstance(node, ast.Assign) for t in node.targets if isinstance(t, ast.Name)
        }
        there |= {
            node.target.id
            for node in tree.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        assert name in there, f"{file} has no {name}"

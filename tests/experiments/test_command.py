"""``fewlabels reproduce`` as it is typed."""

from __future__ import annotations

import re

import pytest

from fewlabels.cli import DONE, WRONG_REQUEST, call
from fewlabels.experiments.catalogue import EXPERIMENTS
from fewlabels.experiments.command import command

DRY = ["reproduce", "table2", "--preset", "desk", "--dry-run", "--images-per-second", "100"]


def test_the_folder_of_the_data_is_not_taken_for_the_data_set(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEWLABELS_DATA", str(tmp_path))
    assert call(DRY) == DONE
    assert "8 runs" in capsys.readouterr().out
    assert call([*DRY, "--dataset", "svhn"]) == DONE
    assert "4 runs" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_the_help_names_every_table_and_figure():
    assert command.__doc__ is not None
    (line,) = [line for line in command.__doc__.splitlines() if line.strip().startswith("table1,")]
    assert set(re.findall(r"\w+", line)) - {"or"} == set(EXPERIMENTS)


@pytest.mark.parametrize("seeds", [["--seeds", "0", "1", "2"], ["--seeds", "0", "--seeds", "1", "--seeds", "2"]])
def test_several_seeds_and_methods_are_given_at_once(seeds, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    assert call([*DRY, *seeds, "--methods", "rot", "sm-gnn"]) == DONE
    assert "12 runs" in capsys.readouterr().out  # two methods on two sets, three times
    assert call(["reproduce", "--help"]) == DONE
    assert "--empty" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reproduce", "table9", "--dry-run"], "there is no table or figure 'table9'. Did you mean 'table"),
        ([*DRY, "--methods", "rott"], "table2 has no method 'rott'. Did you mean 'rot'?"),
        (["reproduce", "table2", "--preset", "desks"], "there is no preset 'desks'. Did you mean 'desk'?"),
    ],
)
def test_a_wrong_word_is_answered_with_the_nearest(arguments, said, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    assert call(arguments) == WRONG_REQUEST
    assert said in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.processes
def test_a_table_as_a_newcomer_types_it(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FEWLABELS_DATA", raising=False)
    asked = ["--preset", "smoke", "--seeds", "0", "--dataset", "svhn"]
    assert call(["reproduce", "full", *asked]) == DONE
    first = capsys.readouterr().out.splitlines()
    assert first[0].startswith("1 run (0 more in the records already")
    out = tmp_path / "reproduced" / "smoke"
    assert first[-3:] == [str(out / f"full.{form}") for form in ("md", "tex", "csv")]
    assert "(n = 1, smoke, 32 steps)" in (out / "full.md").read_text()
    assert call(["reproduce", "table2", *asked, "--methods", "rot"]) == DONE
    assert "table2.md" in capsys.readouterr().out
    assert call(["reproduce", "full", *asked]) == DONE
    assert capsys.readouterr().out.splitlines()[0].startswith("0 runs (1 more in the records already")
    assert len((out / "records.jsonl").read_text().splitlines()) == 2

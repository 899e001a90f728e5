"""``fewlabels reproduce`` as it is typed."""

from __future__ import annotations

import pytest

from fewlabels.cli import DONE, WRONG_REQUEST, call

DRY = ["reproduce", "table2", "--preset", "desk", "--dry-run", "--images-per-second", "100"]


def test_the_folder_of_the_data_is_not_taken_for_the_data_set(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEWLABELS_DATA", str(tmp_path))
    assert call(DRY) == DONE
    assert "8 runs" in capsys.readouterr().out
    assert call([*DRY, "--dataset", "svhn"]) == DONE
    assert "4 runs" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


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

"""A CSV table of images, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from made_images import noise, save, table

from fewlabels.data.images import UNKNOWN
from fewlabels.data.sources import open_source
from fewlabels.errors import InputError

ROWS: list[tuple[str, ...]] = [("a.png", "cat"), ("b.png", "dog"), ("sub/c.png", ""), ("d.png", "cat")]


def refused(file: Path, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        open_source(file)
    assert "\n" not in str(error.value)


def test_an_empty_label_is_unlabelled(tmp_path: Path) -> None:
    source = open_source(table(tmp_path / "photos.csv", ROWS))
    assert source.name == "photos"
    assert source.classes == ("cat", "dog")
    assert source.train.labels.tolist() == [0, 1, UNKNOWN, 0]
    assert source.train.paths == tuple(str(tmp_path / row[0]) for row in ROWS)
    assert torch.equal(source.train.pixels[2], torch.from_numpy(noise(1002)).permute(2, 0, 1))


def test_a_split_column_names_the_parts(tmp_path: Path) -> None:
    rows = [("a.png", "cat", ""), ("b.png", "dog", "train"), ("c.png", "cat", "test"), ("d.png", "dog", "validation")]
    source = open_source(table(tmp_path / "photos.csv", rows, ("path", "label", "split")))
    assert source.validation is not None
    assert source.test is not None
    assert source.train.labels.tolist() == [0, 1]
    assert source.validation.labels.tolist() == [1]
    assert source.test.labels.tolist() == [0]


def test_paths_are_relative_to_the_table_or_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "far/e.png", noise(5))
    file = table(tmp_path / "here/photos.csv", [*ROWS, (str(tmp_path / "far/e.png"), ""), ("../far/../far/f.png", "")])
    monkeypatch.chdir(tmp_path)
    assert len(open_source("here/photos.csv").train) == 6
    assert len(open_source(file).train) == 6


def test_spaces_a_mark_and_order_of_columns_do_not_matter(tmp_path: Path) -> None:
    table(tmp_path / "plain.csv", ROWS)
    (tmp_path / "photos.csv").write_text(
        "label , path\r\ncat, a.png\r\n dog ,b.png\r\n,sub/c.png\r\n", encoding="utf-8-sig"
    )
    source = open_source(tmp_path / "photos.csv")
    assert source.classes == ("cat", "dog")
    assert source.train.labels.tolist() == [0, 1, UNKNOWN]


def test_a_label_is_any_text(tmp_path: Path) -> None:
    rows = [("a.png", "Chat, noir"), ("b.png", 'say "hi"'), ("c.png", "été")]
    assert set(open_source(table(tmp_path / "p.csv", rows)).classes) == {row[1] for row in rows}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([*ROWS, ("a.png", "cat")], r"line 6: .*a.png is listed twice \(line 2\)"),
        ([*ROWS, ("./sub/../a.png", "cat")], "is listed twice"),
        ([*ROWS, ("a.png", "")], r"a.png is both labelled and unlabelled \(line 2\)"),
        ([*ROWS, ("sub/c.png", "dog")], r"is both labelled and unlabelled \(line 4\)"),
        ([*ROWS, ("", "cat")], "line 6 has no path"),
        ([*ROWS, ("a.png", "cat", "x")], "line 6 has more or fewer fields than the first line"),
        ([*ROWS, ("a.png",)], "line 6 has more or fewer fields"),
        ([("a.png", "cat"), ("b.png", "cat")], "labelled images of one class, 'cat'"),
        ([("a.png", ""), ("b.png", "")], "has no labelled image"),
        ([], "lists no image"),
    ],
)
def test_wrong_rows_are_refused(tmp_path: Path, rows: list[tuple[str, ...]], words: str) -> None:
    refused(table(tmp_path / "photos.csv", rows), words)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (("path", "lable"), r"has a column 'lable', .* did you mean 'label'\?"),
        (("file", "label"), "has a column 'file', and the columns are path and label"),
        (("Path", "label"), r"did you mean 'path'\?"),
        (("path", "path"), "has no column 'label'"),
        (("path;label", "split"), r"did you mean|separated by commas"),
    ],
)
def test_wrong_columns_are_refused(tmp_path: Path, columns: tuple[str, ...], words: str) -> None:
    refused(table(tmp_path / "photos.csv", ROWS, columns), words)


def test_a_column_named_twice_is_refused(tmp_path: Path) -> None:
    file = table(tmp_path / "photos.csv", [("a.png", "cat", "dog")], ("path", "label", "label"))
    refused(file, "name each once")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("e.png", "cat", "holdout"), "split 'holdout' is not train, validation or test"),
        (("e.png", "", "test"), "an image of the test part needs a label"),
        (("e.png", "bird", "test"), "of the test part is of class 'bird', which has no labelled image"),
    ],
)
def test_wrong_splits_are_refused(tmp_path: Path, row: tuple[str, ...], words: str) -> None:
    rows = [("a.png", "cat", ""), ("b.png", "dog", ""), row]
    refused(table(tmp_path / "photos.csv", rows, ("path", "label", "split")), words)


def test_missing_files_and_other_kinds_are_refused(tmp_path: Path) -> None:
    file = table(tmp_path / "photos.csv", ROWS)
    (tmp_path / "d.png").unlink()
    refused(file, r"line 5: there is no file .*d.png: paths are relative to the table's folder")
    (tmp_path / "notes.txt").write_text("x")
    refused(table(tmp_path / "photos.csv", [*ROWS, ("notes.txt", "")]), "notes.txt is not an image")


def test_the_same_bytes_labelled_and_not_are_refused(tmp_path: Path) -> None:
    save(tmp_path / "e.png", noise(1000))
    refused(table(tmp_path / "photos.csv", [*ROWS, ("e.png", "")]), r"e.png \(unlabelled\) is the same image as")


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    refused(tmp_path / "empty.csv", "has no column 'path'")
    (tmp_path / "bytes.csv").write_bytes(b"path,label\n\xff\xfe,cat\n")
    refused(tmp_path / "bytes.csv", "is not a CSV table in UTF-8")
    (tmp_path / "quote.csv").write_text('path,label\n"a.png,cat\n')
    refused(tmp_path / "quote.csv", "is not a CSV table in UTF-8")

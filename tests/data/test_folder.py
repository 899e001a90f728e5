"""A folder of images: its layout, its sizes, and what is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import torch
from made_images import image_folder, noise, save

from fewlabels.data.images import UNKNOWN
from fewlabels.data.sources import open_source
from fewlabels.errors import InputError


def refused(root: Path, words: str) -> None:
    """One sentence, and nothing written."""
    before = sorted(root.rglob("*")) if root.is_dir() else []
    with pytest.raises(InputError, match=words) as error:
        open_source(root)
    assert "\n" not in str(error.value)
    assert before == (sorted(root.rglob("*")) if root.is_dir() else [])


def test_labels_are_the_names_of_folders(tmp_path: Path) -> None:
    source = open_source(image_folder(tmp_path / "photos", classes=3, each=2, unlabeled=4))
    assert source.name == "photos"
    assert source.classes == ("class0", "class1", "class2")
    assert source.train.labels.tolist() == [0, 0, 1, 1, 2, 2] + [UNKNOWN] * 4
    assert source.train.paths is not None
    assert source.train.paths[2] == str(tmp_path / "photos/labeled/class1/0.png")
    assert source.validation is None
    assert source.test is None
    assert (source.default_labels, source.validation_size) == (None, None)


def test_pixels_are_those_of_the_files(tmp_path: Path) -> None:
    source = open_source(str(image_folder(tmp_path)))
    expected = torch.stack([torch.from_numpy(noise(seed)).permute(2, 0, 1) for seed in range(1, 11)])
    assert torch.equal(source.train.pixels, expected)


def test_validation_and_test_folders_judge(tmp_path: Path) -> None:
    source = open_source(image_folder(tmp_path, judges=2))
    assert source.validation is not None
    assert source.test is not None
    assert source.validation.labels.tolist() == source.test.labels.tolist() == [0, 0, 1, 1]
    assert len(source.train) == 10


def test_unlabelled_images_may_be_missing_or_lie_deep(tmp_path: Path) -> None:
    root = image_folder(tmp_path, unlabeled=0)
    assert len(open_source(root).train) == 6
    save(root / "unlabeled/2024/may/a.bmp", noise(50))
    save(root / "unlabeled/b.JPG", noise(51))
    assert open_source(root).train.labels.tolist()[6:] == [UNKNOWN] * 2


def test_numbered_classes_are_in_the_order_of_numbers(tmp_path: Path) -> None:
    for i, name in enumerate(("10", "9", "1")):
        save(tmp_path / "labeled" / name / "a.png", noise(i))
    assert open_source(tmp_path).classes == ("1", "9", "10")


def test_hidden_files_and_droppings_are_passed_over(tmp_path: Path) -> None:
    root = image_folder(tmp_path)
    expected = open_source(root).train.paths
    for name in (".DS_Store", "labeled/.DS_Store", "labeled/class0/Thumbs.db", "unlabeled/.cache/a.txt", "README.md"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x")
    assert open_source(root).train.paths == expected


def test_images_of_one_small_size_keep_it(tmp_path: Path) -> None:
    assert open_source(image_folder(tmp_path / "square", side=20)).shape == (3, 20, 20)
    for i, name in enumerate(("labeled/a", "labeled/b", "unlabeled")):
        save(tmp_path / "wide" / name / "0.png", noise(i, 30)[:20])
    assert open_source(tmp_path / "wide").shape == (3, 20, 30)


def test_large_or_different_sizes_become_32(tmp_path: Path) -> None:
    assert open_source(image_folder(tmp_path / "large", side=65)).shape == (3, 32, 32)
    mixed = image_folder(tmp_path / "mixed", side=20)
    save(mixed / "unlabeled/other.png", noise(99, 21))
    assert open_source(mixed).shape == (3, 32, 32)


def test_a_size_can_be_asked_for(tmp_path: Path) -> None:
    assert open_source(image_folder(tmp_path, side=20), size=24).shape == (3, 24, 24)


def test_grey_images_have_one_channel_unless_one_has_colour(tmp_path: Path) -> None:
    for i, name in enumerate(("labeled/a", "labeled/b", "unlabeled")):
        save(tmp_path / name / "0.png", noise(i, channels=1))
    assert open_source(tmp_path).shape == (1, 8, 8)
    save(tmp_path / "unlabeled/colour.png", noise(9))
    assert open_source(tmp_path).shape == (3, 8, 8)


def test_a_class_folder_may_be_a_link(tmp_path: Path) -> None:
    root = image_folder(tmp_path / "photos")
    shutil.move(root / "labeled/class1", tmp_path / "elsewhere")
    (root / "labeled/class1").symlink_to(tmp_path / "elsewhere")
    assert open_source(root).classes == ("class0", "class1")


def test_copies_among_the_unlabelled_are_nobodys_business(tmp_path: Path) -> None:
    root = image_folder(tmp_path)
    shutil.copy(root / "unlabeled/0.png", root / "unlabeled/copy.png")
    assert len(open_source(root).train) == 11


def test_missing_and_empty_folders_are_refused(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "there is no data set, folder or file")
    refused(tmp_path, "is empty: a folder of images holds labeled/<class>/")
    (tmp_path / "unlabeled").mkdir()
    refused(tmp_path, "has no labeled/ folder")
    (tmp_path / "labeled").mkdir()
    refused(tmp_path, "labeled is empty: add labeled/<class>/ folders")


@pytest.mark.parametrize("name", ["labeled/class2", "unlabeled", "validation/class0", "test/class1"])
def test_an_empty_part_is_refused(tmp_path: Path, name: str) -> None:
    root = image_folder(tmp_path, unlabeled=0)
    (root / name).mkdir(parents=True)
    refused(root, f"{name} has no image: add at least one, or remove the folder")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("labelled", r"did you mean labeled/\?"), ("val", r"did you mean validation/\?"), ("photos", "rename it")],
)
def test_an_unknown_part_is_refused(tmp_path: Path, name: str, hint: str) -> None:
    image_folder(tmp_path)
    save(tmp_path / name / "a.png", noise(0))
    refused(tmp_path, hint)


def test_one_class_is_refused(tmp_path: Path) -> None:
    refused(image_folder(tmp_path, classes=1), "labelled images of one class, 'class0'")


def test_a_class_that_only_judges_is_refused(tmp_path: Path) -> None:
    root = image_folder(tmp_path, judges=1)
    save(root / "test/bird/a.png", noise(77))
    refused(root, "of the test part is of class 'bird', which has no labelled image")


def test_images_outside_of_the_parts_are_refused(tmp_path: Path) -> None:
    root = image_folder(tmp_path)
    save(root / "labeled/a.png", noise(77))
    refused(root, "is in no class: move it into labeled/<class>/")
    (root / "labeled/a.png").rename(root / "a.png")
    refused(root, "is in no part of")


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    root = image_folder(tmp_path)
    (root / "unlabeled/notes.txt").write_text("x")
    refused(root, r"notes.txt is not an image: \.jpg, \.jpeg, \.png, \.webp, \.bmp are read")


def test_a_damaged_image_is_refused(tmp_path: Path) -> None:
    root = image_folder(tmp_path)
    path = root / "unlabeled/3.png"
    path.write_bytes(path.read_bytes()[:60])
    refused(root, r"3.png cannot be read as a JPEG, PNG, WebP or BMP image")
    path.unlink()
    path.symlink_to(root / "nowhere.png")
    refused(root, r"3.png cannot be read")


@pytest.mark.parametrize(
    ("copy", "words"),
    [
        ("unlabeled/copy.png", r"\(unlabelled\) is the same image as .*0.png \(labelled 'class0'\)"),
        ("labeled/class1/copy.png", r"\(labelled 'class1'\) is the same image as .*0.png \(labelled 'class0'\)"),
        ("test/class0/copy.png", r"\(test, labelled 'class0'\) is the same image as"),
    ],
)
def test_an_image_in_two_places_is_refused(tmp_path: Path, copy: str, words: str) -> None:
    root = image_folder(tmp_path, judges=1)
    shutil.copy(root / "labeled/class0/0.png", root / copy)
    refused(root, words)


def test_copies_are_counted(tmp_path: Path) -> None:
    root = image_folder(tmp_path)
    for i in range(3):
        shutil.copy(root / f"labeled/class0/{i}.png", root / f"unlabeled/copy{i}.png")
    refused(root, r"\(and 2 more like this\): keep one of them")


def test_links_are_followed_and_end(tmp_path: Path) -> None:
    root = image_folder(tmp_path / "photos")
    save(tmp_path / "elsewhere/z.png", noise(99))
    (tmp_path / "elsewhere/again").symlink_to(tmp_path / "elsewhere")
    (root / "unlabeled/more").symlink_to(tmp_path / "elsewhere")
    assert len(open_source(root).train) == 11


def test_names_are_any_utf8_and_nothing_else(tmp_path: Path) -> None:
    root = image_folder(tmp_path)
    (root / "labeled/class0").rename(root / "labeled/été 🐱")
    assert open_source(root).classes == ("class1", "été 🐱")
    (root / "unlabeled/0.png").rename(root / "unlabeled/\udcff.png")
    refused(root, "is not UTF-8: rename it")


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    root = image_folder(tmp_path)
    os.mkfifo(root / "unlabeled/pipe.png")  # opening it would wait for ever
    refused(root, r"pipe\.png is not a file")
    (root / "unlabeled/pipe.png").unlink()
    shutil.rmtree(root / "unlabeled")
    (root / "unlabeled").write_text("x")
    refused(root, "unlabeled is a file, and a folder of images holds")

"""One contract for all sources: adding one is a line in SOURCES."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from made_images import image_folder, noise, svhn_files, table
from real_images import real

from fewlabels.data.images import UNKNOWN, Images, Source
from fewlabels.data.sources import NAMED, open_source
from fewlabels.data.splits import draw_split
from fewlabels.errors import InputError


def _folder(tmp: Path) -> Source:
    return open_source(image_folder(tmp / "photos", judges=2) if not (tmp / "photos").exists() else tmp / "photos")


def _table(tmp: Path) -> Source:
    rows = [(f"{i}.png", ("cat", "dog", "")[i % 3]) for i in range(9)]
    return open_source(table(tmp / "photos.csv", rows))


def _arrays() -> dict[str, np.ndarray]:
    x = np.stack([noise(i) for i in range(12)])
    y = np.arange(12) % 3 - 1
    return {
        "x": x[:8],
        "y": y[:8],
        "x_val": x[8:10],
        "y_val": np.array([0, 1]),
        "x_test": x[10:],
        "y_test": np.array([1, 0]),
    }


def _npz(tmp: Path) -> Source:
    np.savez(tmp / "photos.npz", **_arrays())
    return open_source(tmp / "photos.npz")


def _svhn(name: str) -> Callable[[Path], Source]:
    return lambda tmp: open_source(name, data_dir=svhn_files(tmp / "svhn", extra=30).parent)


SOURCES: dict[str, Callable[[Path], Source]] = {
    "digits": lambda tmp: open_source("digits"),
    "svhn": _svhn("svhn"),
    "svhn-extra": _svhn("svhn-extra"),
    "folder": _folder,
    "table": _table,
    "npz": _npz,
    "arrays": lambda tmp: open_source(_arrays()),
}
REAL = ("cifar10", "svhn")


def parts(source: Source) -> dict[str, Images]:
    found = {"train": source.train, "validation": source.validation, "test": source.test}
    return {name: images for name, images in found.items() if images is not None}


def obeys(source: Source) -> None:
    """What everything else relies on."""
    channels, height, width = source.shape
    for name, images in parts(source).items():
        assert images.pixels.dtype == torch.uint8
        assert images.pixels.shape == (len(images), channels, height, width)
        assert images.labels.dtype == torch.int64
        assert len(images) > 0
        assert images.labels.max() < len(source.classes)
        assert images.labels.min() >= (UNKNOWN if name == "train" else 0)
        assert images.paths is None or len(images.paths) == len(set(images.paths)) == len(images)
    assert channels in (1, 3)
    assert len(set(source.classes)) == len(source.classes) >= 2
    known = source.train.labels[source.train.labels != UNKNOWN]
    assert known.unique().tolist() == list(range(len(source.classes)))


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_obeys_the_contract(name: str, tmp_path: Path) -> None:
    obeys(SOURCES[name](tmp_path))


@pytest.mark.parametrize("name", SOURCES)
def test_opening_again_gives_equal_tensors(name: str, tmp_path: Path) -> None:
    first, again = SOURCES[name](tmp_path), SOURCES[name](tmp_path)
    assert first.classes == again.classes
    for one, other in zip(parts(first).values(), parts(again).values(), strict=True):
        assert torch.equal(one.pixels, other.pixels)
        assert torch.equal(one.labels, other.labels)
        assert one.paths == other.paths


@pytest.mark.parametrize("name", SOURCES)
def test_parts_share_no_image(name: str, tmp_path: Path) -> None:
    seen: set[bytes] = set()
    for images in parts(SOURCES[name](tmp_path)).values():
        own = {bytes(image.flatten().numpy()) for image in images.pixels}
        assert name == "digits" or not own & seen  # two people can write the same small digit
        seen |= own


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_can_be_split(name: str, tmp_path: Path) -> None:
    source = SOURCES[name](tmp_path)
    classes = len(source.classes)
    split = draw_split(source.train.labels, classes=classes, count=classes, seed=0)
    assert source.train.labels[split.labeled].sort().values.tolist() == list(range(classes))


@pytest.mark.real_data
@pytest.mark.parametrize("name", REAL)
def test_real_data_obey_the_contract(name: str) -> None:
    obeys(real(name))


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("cifar10", [5000] * 10),
        ("svhn", [4948, 13861, 10585, 8497, 7458, 6882, 5727, 5595, 5045, 4659]),  # of 0, 1, ... 9
    ],
)
def test_real_class_sizes_are_the_official_ones(name: str, counts: list[int]) -> None:
    assert real(name).train.labels.bincount().tolist() == counts


def test_all_names_are_in_the_contract() -> None:
    assert set(NAMED) == {*SOURCES, *REAL} - {"folder", "table", "npz", "arrays"}


def test_digits_and_house_numbers_are_never_flipped_and_photos_are(tmp_path: Path) -> None:
    flips = {name: make(tmp_path).flip for name, make in SOURCES.items()}
    assert flips == {
        "digits": False,
        "svhn": False,
        "svhn-extra": False,
        "folder": True,
        "table": True,
        "npz": True,
        "arrays": True,
    }


def test_flip_can_be_turned_off_for_images_of_ones_own(tmp_path: Path) -> None:
    assert not open_source(image_folder(tmp_path), flip=False).flip
    assert not open_source(_arrays(), flip=False).flip
    with pytest.raises(InputError, match="whether digits may be mirrored is fixed"):
        open_source("digits", flip=True)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("cifar", "did you mean cifar10?"),
        ("CIFAR10", "did you mean cifar10?"),
        ("svhn_extra", "did you mean svhn-extra?"),
        ("my/photos", "give a path that exists, or one of digits, cifar10, svhn, svhn-extra"),
    ],
)
def test_an_unknown_source_names_the_nearest(spec: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        open_source(spec)
    assert words in str(error.value)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photos.txt").write_text("a")
    with pytest.raises(InputError, match=r"neither a folder, a .csv table nor an .npz"):
        open_source(tmp_path / "photos.txt")


@pytest.mark.parametrize("name", ["cifar10", "svhn", "svhn-extra"])
def test_absent_data_say_where_they_were_looked_for_and_what_to_run(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        open_source(name, data_dir=tmp_path)
    assert f"fewlabels data fetch {name}" in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_a_size_is_refused_where_images_are_never_resized(tmp_path: Path) -> None:
    for spec in ("digits", _arrays()):
        with pytest.raises(InputError, match="never"):
            open_source(spec, size=16)
    with pytest.raises(InputError, match="at least 1 pixel"):
        open_source(image_folder(tmp_path), size=0)


def test_the_data_folder_comes_from_the_argument_then_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    svhn_files(tmp_path / "here" / "svhn")
    monkeypatch.setenv("FEWLABELS_DATA", str(tmp_path / "here"))
    assert len(open_source("svhn").train) == 40
    with pytest.raises(InputError, match="no such folder"):
        open_source("svhn", data_dir=tmp_path / "there")

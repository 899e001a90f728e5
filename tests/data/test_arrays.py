"""Arrays, in an .npz or from Python: what they may be, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from fewlabels.data import memory
from fewlabels.data.images import UNKNOWN
from fewlabels.data.sources import arrays, open_source, read_pixels
from fewlabels.errors import InputError

X = np.random.default_rng(0).integers(0, 256, (12, 8, 8), dtype=np.uint8)
Y = np.array([0, 1] * 3 + [UNKNOWN] * 6)


def refused(changes: dict[str, object], words: str, tmp: Path) -> None:
    """From Python and from a file alike, in one sentence."""
    given = {name: array for name, array in ({"x": X, "y": Y} | changes).items() if array is not None}
    np.savez(tmp / "photos.npz", **given)  # type: ignore[arg-type]
    for data in (tmp / "photos.npz", given):
        with pytest.raises(InputError, match=words) as error:
            open_source(data)  # type: ignore[arg-type]
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("x", "shape"),
    [
        (X, (1, 8, 8)),
        (np.stack([X] * 3, 1), (3, 8, 8)),
        (np.stack([X] * 3, 3), (3, 8, 8)),
        (np.asfortranarray(X), (1, 8, 8)),
        (torch.from_numpy(X), (1, 8, 8)),
    ],
)
def test_the_channels_are_found(x: np.ndarray | Tensor, shape: tuple[int, int, int]) -> None:
    source = open_source({"x": x, "y": Y})
    assert source.shape == shape
    assert torch.equal(source.train.pixels[:, 0], torch.from_numpy(X))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, ">f4"])
def test_floats_become_the_nearest_level(kind: type | str, tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "photos.npz", x=(X / 255).astype(kind), y=Y)
    assert torch.equal(open_source(tmp_path / "photos.npz").train.pixels[:, 0], torch.from_numpy(X))


@pytest.mark.parametrize("kind", [np.int8, ">i4", np.int64])
def test_labels_are_whole_numbers_of_any_width(kind: type | str) -> None:
    assert open_source((X, Y.astype(kind))).train.labels.tolist() == Y.tolist()


@pytest.mark.parametrize("names", [["cat", "dog"], [b"cat", b"dog"]])
def test_classes_may_have_names(names: list[str] | list[bytes]) -> None:
    assert open_source({"x": X, "y": Y, "classes": np.array(names)}).classes == ("cat", "dog")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"x": np.where(X < 3, np.nan, X / 255)}, r"x has values that are not numbers in image \d+: repair it"),
        ({"x": np.where(X < 3, np.inf, X / 255)}, "x has values that are not numbers"),
        ({"x": X.astype(float)}, "x has floats from 0 to 255 in images 0 .. 11: scale them to 0 .. 1"),
        ({"x": X.astype(np.int64)}, "x is int64: give uint8 from 0 to 255"),
        ({"x": X > 5}, "x is bool"),
        ({"x": X.reshape(12, 64)}, r"x has shape \(12, 64\): give N H W"),
        ({"x": X[:0], "y": Y[:0]}, "x has no image"),
        ({"y": Y * 1.0}, "y is float64 of shape .*: labels are one whole number an image"),
        ({"y": Y * np.nan}, "y is float64"),
        ({"y": Y[:, None]}, r"y is int64 of shape \(12, 1\)"),
        ({"y": Y[:-1]}, "x has 12 images and y 11 labels"),
        ({"y": Y - 1}, "y has label -2 for image 6"),
        ({"y": np.where(Y == 1, 10**12, Y)}, "y runs to 1000000000000 with 6 labelled images"),
        ({"y": np.where(Y == 1, 2, Y)}, "class 1 of 0 .. 2 has no labelled image in y"),
        ({"y": np.full(12, -1)}, "y is -1 everywhere"),
        ({"y": np.minimum(Y, 0)}, "y has one class, 0"),
        ({"x": None}, "there is 'y' without 'x'"),
        ({"y": None}, "there is 'x' without 'y'"),
        ({"x": None, "X": X}, "there is 'y' without 'x'|'X', which means nothing here"),
        ({"y_tset": Y}, "'y_tset', which means nothing here: did you mean 'y_test'"),
        ({"x_test": X, "y_test": Y}, "y_test has label -1 for image 6"),
        ({"x_test": X[:, :4], "y_test": np.abs(Y)}, r"x_test has images of \(1, 4, 8\) and x of \(1, 8, 8\)"),
        ({"classes": np.array(["a"])}, "classes names 1 classes and y runs to 1"),
        ({"classes": np.array([["a", "b"]])}, "classes is .* of shape .*: give a list of names"),
    ],
)
def test_what_means_nothing_is_refused(changes: dict[str, object], words: str, tmp_path: Path) -> None:
    refused(changes, words, tmp_path)


def test_a_file_that_is_no_npz_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "photos.npz"
    np.savez(path, x=X, y=Y)
    whole = path.read_bytes()
    np.savez(path, x=np.array([print] * 12), y=Y)
    with pytest.raises(InputError, match=r"holds Python objects in x\.npy"):
        open_source(path)
    for content in (b"hello", whole[:300], whole[:60] + b"?" + whole[61:]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"cannot be read as an \.npz|image|header"):
            open_source(path)


def test_arrays_to_predict_must_have_the_networks_shape() -> None:
    assert read_pixels(X, shape=(1, 8, 8)).pixels.shape == (12, 1, 8, 8)
    with pytest.raises(InputError, match=r"x has images of \(1, 8, 8\) and the network takes \(1, 16, 16\)"):
        read_pixels(X, shape=(1, 16, 16))


def test_large_arrays_stay_the_memory_map_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    monkeypatch.setattr(arrays, "is_large", lambda size: True)
    found = open_source((mapped, Y)).train.pixels
    assert found.data_ptr() == mapped.ctypes.data


def test_what_is_too_large_is_laid_out_on_disk_and_gone_with_its_tensor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = open_source((X, Y)).train.pixels
    monkeypatch.setattr(memory, "is_large", lambda size: True)
    found = open_source((X / 255, Y), data_dir=tmp_path / "home").train.pixels
    assert torch.equal(found, expected)
    maps = Path("/proc/self/maps")
    assert not maps.exists() or str(tmp_path / "home") in maps.read_text()
    assert list((tmp_path / "home").iterdir()) == []  # nameless: nothing is left behind by a process that dies


def test_a_disk_without_room_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "is_large", lambda size: True)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="too large for the memory and could not be laid out under"):
        open_source((X / 255, Y), data_dir=tmp_path / "file")


def test_a_quarter_of_the_memory_is_large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text("4000\n")
    monkeypatch.setattr(memory, "CGROUP", limit)
    assert (memory.memory(), memory.is_large(1000), memory.is_large(1001)) == (4000, False, True)
    limit.write_text("max\n")
    assert memory.memory() > 1e8

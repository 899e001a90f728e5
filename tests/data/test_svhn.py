"""SVHN's .mat files against SciPy's reading of them, and files that are not what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from made_images import svhn_files
from scipy.io import loadmat, savemat

from fewlabels.data.images import UNKNOWN
from fewlabels.data.sources import open_source
from fewlabels.errors import InputError


@pytest.mark.parametrize("compressed", [False, True])
def test_images_and_labels_are_those_of_scipy(tmp_path: Path, compressed: bool) -> None:
    svhn_files(tmp_path / "svhn", train=1100, compressed=compressed)
    train = open_source("svhn", data_dir=tmp_path).train
    there = loadmat(tmp_path / "svhn/train_32x32.mat")
    assert torch.equal(train.pixels, torch.from_numpy(there["X"].transpose(3, 2, 0, 1).copy()))
    assert train.labels.tolist() == (there["y"][:, 0] % 10).tolist()  # 10 is the digit 0


def test_extra_images_are_more_unlabelled_ones(tmp_path: Path) -> None:
    svhn_files(tmp_path / "svhn", extra=30)
    extra = loadmat(tmp_path / "svhn/extra_32x32.mat")["X"].transpose(3, 2, 0, 1)
    for wanted in (None, 7, 0):
        train = open_source("svhn-extra", data_dir=tmp_path, extra_unlabeled=wanted).train
        count = 30 if wanted is None else wanted
        assert len(train) == 40 + count
        assert train.labels[40:].tolist() == [UNKNOWN] * count
        assert np.array_equal(train.pixels[40:].numpy(), extra[:count])
    with pytest.raises(InputError, match="31 extra images were asked for, but there are 30"):
        open_source("svhn-extra", data_dir=tmp_path, extra_unlabeled=31)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_file_cut_short_is_refused(tmp_path: Path, compressed: bool, share: float) -> None:
    path = svhn_files(tmp_path / "svhn", compressed=compressed) / "train_32x32.mat"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"is not an SVHN file: .* Delete it and run `fewlabels data fetch svhn`"):
        open_source("svhn", data_dir=tmp_path)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"X": np.zeros((32, 32, 3, 5), np.uint8)}, "KeyError: 'y'"),
        ({"X": np.zeros((28, 28, 3, 5), np.uint8), "y": np.ones((5, 1), np.uint8)}, r"X is uint8 \(28, 28, 3, 5\)"),
        ({"X": np.zeros((32, 32, 3, 5)), "y": np.ones((5, 1), np.uint8)}, "X is float64"),
        ({"X": np.zeros((32, 32, 3, 5), np.uint8), "y": np.ones((6, 1), np.uint8)}, r"y uint8 \(6, 1\)"),
        (
            {"X": np.zeros((32, 32, 3, 5), np.uint8), "y": np.zeros((5, 1), np.uint8)},
            "labels run from 0 to 0, not within",
        ),
    ],
)
def test_other_arrays_are_refused(tmp_path: Path, arrays: dict[str, np.ndarray], words: str) -> None:
    savemat(svhn_files(tmp_path / "svhn") / "train_32x32.mat", arrays)
    with pytest.raises(InputError, match=words):
        open_source("svhn", data_dir=tmp_path)

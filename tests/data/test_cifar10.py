"""CIFAR-10's two official layouts, in small, and files that are not what they say."""

from __future__ import annotations

import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from fewlabels.data.sources import cifar10, open_source
from fewlabels.errors import InputError

EACH = 20


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cifar10, "BATCH", EACH)


def batch(seed: int) -> tuple[np.ndarray, list[int]]:
    generator = np.random.default_rng(seed)
    return generator.integers(0, 256, (EACH, 3072), dtype=np.uint8), [i % 10 for i in range(EACH)]


def official(seed: int) -> bytes:
    """A batch as Python 2 pickled it, with protocol 2: byte strings and `numpy.core`."""
    rows, labels = batch(seed)

    def text(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value if len(value) < 256 else b"T" + struct.pack("<I", len(value)) + value

    kind = (
        b"cnumpy\ndtype\n"
        + text(b"u1")
        + b"K\x00K\x01\x87R(K\x03"
        + text(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + text(b"b") + b"\x87R"
    shape = b"M" + struct.pack("<H", EACH) + b"M" + struct.pack("<H", 3072) + b"\x86"
    array += b"(K\x01" + shape + kind + b"\x89" + text(rows.tobytes()) + b"tb"
    numbers = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    return b"\x80\x02}(" + text(b"data") + array + text(b"labels") + numbers + b"u."


def python_layout(root: Path) -> Path:
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for i, name in enumerate(cifar10.PYTHON):
        (folder / name).write_bytes(official(i))
    return folder


def binary_layout(root: Path) -> Path:
    folder = root / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    for i, name in enumerate(cifar10.BINARY):
        rows, labels = batch(i)
        (folder / name).write_bytes(np.concatenate([np.array(labels, np.uint8)[:, None], rows], axis=1).tobytes())
    return folder


def test_both_layouts_give_the_same_images(tmp_path: Path) -> None:
    python_layout(tmp_path / "py")
    binary_layout(tmp_path / "bin")
    one, other = (open_source("cifar10", data_dir=tmp_path / name) for name in ("py", "bin"))
    expected = torch.from_numpy(np.concatenate([batch(i)[0] for i in range(5)])).view(-1, 3, 32, 32)
    for source in (one, other):
        assert torch.equal(source.train.pixels, expected)
        assert source.train.labels.tolist() == [i % 10 for i in range(EACH)] * 5
        assert source.test is not None
        assert len(source.test) == EACH
        assert (source.validation_size, source.default_labels, source.flip) == (5_000, 4_000, True)


def test_the_folder_of_the_batches_may_be_given_itself(tmp_path: Path) -> None:
    assert len(open_source("cifar10", data_dir=python_layout(tmp_path)).train) == 5 * EACH
    assert len(open_source("cifar10", data_dir=binary_layout(tmp_path)).train) == 5 * EACH


def refused(root: Path, words: str) -> None:
    with pytest.raises(InputError, match=words):
        open_source("cifar10", data_dir=root)


class _Touch:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.path}",)


def test_a_malicious_pickle_runs_nothing(tmp_path: Path) -> None:
    folder = python_layout(tmp_path)
    for content in (
        pickle.dumps({b"data": _Touch(tmp_path / "owned"), b"labels": []}),
        b'cbuiltins\neval\n(S\'open("owned", "w")\'\ntR.',
        b"cos\nsystem\n(S'touch owned'\ntR.",
        b"cnumpy.core.multiarray\nfromstring\n.",
    ):
        (folder / "data_batch_3").write_bytes(content)
        refused(tmp_path, "which no official batch does; nothing was run")
    assert not (tmp_path / "owned").exists()
    assert not Path("owned").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not a CIFAR-10 batch: EOFError"),
        (official(2)[:5000], "is not a CIFAR-10 batch"),
        (b"hello", "is not a CIFAR-10 batch"),
        (pickle.dumps({b"labels": [0]}), "is not a CIFAR-10 batch: KeyError"),
        (pickle.dumps([1, 2]), "is not a CIFAR-10 batch"),
        (official(2).replace(b"K\x09", b"K\x0b"), r"labels run from 0 to 11, not within 0 \.\. 9"),
    ],
)
def test_a_damaged_batch_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (python_layout(tmp_path) / "data_batch_3").write_bytes(content)
    refused(tmp_path, words)


def test_a_damaged_binary_file_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    folder = binary_layout(tmp_path)
    (folder / "data_batch_2.bin").write_bytes(b"x" * 100)
    refused(tmp_path, "it has 100 bytes, and 20 records have 61460")
    (folder / "data_batch_2.bin").unlink()
    refused(tmp_path, r"without data_batch_2\.bin.*fewlabels data fetch cifar10")

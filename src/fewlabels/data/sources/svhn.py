"""``svhn`` and ``svhn-extra``: house numbers of 32 x 32, in the official ``.mat`` files, where label 10 is the digit 0.

The 531,131 extra images come without labels here: they are unlabelled images and nothing else, as in Fig. 2c.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fewlabels.data.images import UNKNOWN, Images, Source
from fewlabels.data.sources.request import Request, find, keep_size
from fewlabels.errors import InputError

SIDE = 32
TRAIN, TEST, EXTRA = "train_32x32.mat", "test_32x32.mat", "extra_32x32.mat"


def open_svhn(request: Request) -> Source:
    """SVHN as the paper splits it: 65,932 to train with, 7,325 for validation, 26,032 for the test."""
    keep_size(request, SIDE)
    folder = find("svhn", _folders(request), (TRAIN, TEST))
    return _source("svhn", _read(folder / TRAIN), _read(folder / TEST))


def open_svhn_extra(request: Request) -> Source:
    """SVHN, and the extra images (the first ``extra_unlabeled`` of them) as more unlabelled ones."""
    keep_size(request, SIDE)
    folder = find("svhn-extra", _folders(request), (TRAIN, TEST, EXTRA))
    train = _read(folder / TRAIN)
    extra = _read(folder / EXTRA, request.extra_unlabeled).pixels
    more = Images(
        torch.cat([train.pixels, extra]), torch.cat([train.labels, train.labels.new_full((len(extra),), UNKNOWN)])
    )
    return _source("svhn-extra", more, _read(folder / TEST))


def _folders(request: Request) -> tuple[Path, Path]:
    return request.data_dir / "svhn", request.data_dir


def _source(name: str, train: Images, test: Images) -> Source:
    return Source(
        name=name,
        classes=tuple("0123456789"),
        train=train,
        test=test,
        validation_size=7_325,
        default_labels=1_000,
        flip=False,
    )


def _read(file: Path, count: int | None = None) -> Images:
    from scipy.io import loadmat

    try:
        content = loadmat(file, variable_names=["X", "y"])
        pixels, labels = content["X"], content["y"].reshape(-1).astype(np.int64)
    except Exception as error:  # a damaged file can raise nearly anything
        raise _damaged(file, f"{type(error).__name__}: {error}") from error
    if pixels.shape != (SIDE, SIDE, 3, len(labels)) or pixels.dtype != np.uint8 or not len(labels):
        raise _damaged(file, f"X is {pixels.dtype} {pixels.shape} with {len(labels)} labels")
    if labels.min() < 1 or labels.max() > 10:
        raise _damaged(file, f"its labels run from {labels.min()} to {labels.max()}, not within 1 .. 10")
    if count is not None and count > len(labels):
        raise InputError(
            f"{count} extra images were asked for, but there are {len(labels)}: ask for that many or fewer"
        )
    return Images(_rows_first(pixels[..., :count]), torch.from_numpy(labels[:count] % 10))


def _rows_first(pixels: np.ndarray) -> Tensor:
    """H W C N as MATLAB stores it, N slowest and H fastest, to N C H W."""
    return torch.from_numpy(pixels.transpose(3, 2, 0, 1)).contiguous()


def _damaged(file: Path, why: str) -> InputError:
    return InputError(f"{file} is not an SVHN file: {why}. Delete it and run `fewlabels data fetch svhn`")

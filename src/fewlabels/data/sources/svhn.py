"""``svhn`` and ``svhn-extra``: house numbers of 32 x 32, in the official ``.mat`` files, where label 10 is the digit 0.

The 531,131 extra images come without labels here: they are unlabelled images and nothing else, as in Fig. 2c.
"""

from __future__ import annotations

from pathlib import Path

import torch

from fewlabels.data.images import UNKNOWN, Images, Source
from fewlabels.data.memory import room_for
from fewlabels.data.sources.mat import Variable, variables
from fewlabels.data.sources.request import Request, find, keep_size
from fewlabels.errors import InputError

SIDE, VALUES = 32, 3 * 32 * 32
TRAIN, TEST, EXTRA = "train_32x32.mat", "test_32x32.mat", "extra_32x32.mat"
BLOCK = 1024  # images turned together


def open_svhn(request: Request) -> Source:
    """SVHN as the paper splits it: 65,932 to train with, 7,325 for validation, 26,032 for the test."""
    keep_size(request, SIDE)
    folder = find("svhn", _folders(request), (TRAIN, TEST))
    return _source("svhn", _read(request, folder / TRAIN), _read(request, folder / TEST))


def open_svhn_extra(request: Request) -> Source:
    """SVHN, and the extra images (the first ``extra_unlabeled`` of them) as more unlabelled ones."""
    keep_size(request, SIDE)
    folder = find("svhn-extra", _folders(request), (TRAIN, TEST, EXTRA))
    train = _read(request, folder / TRAIN, folder / EXTRA, request.extra_unlabeled)
    return _source("svhn-extra", train, _read(request, folder / TEST))


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


def _read(request: Request, file: Path, extra: Path | None = None, wanted: int | None = None) -> Images:
    """A file's images and labels, and behind them ``wanted`` of another's, unlabelled; no two copies are held."""
    known, more = _count(file), 0 if extra is None else _count(extra)
    if wanted is not None and not 0 <= wanted <= more:
        raise InputError(f"{wanted} extra images were asked for, but there are {more}: ask for that many or fewer")
    more = more if wanted is None else wanted
    pixels = room_for(known + more, (3, SIDE, SIDE), request.data_dir)
    labels = torch.full((known + more,), UNKNOWN)
    _fill(file, pixels[:known], labels[:known])
    if extra is not None:
        _fill(extra, pixels[known:], None)
    return Images(pixels, labels)


def _count(file: Path) -> int:
    """How many images a file holds, once its shapes are right."""
    x, y = _variables(file)
    if x.shape[:3] != (SIDE, SIDE, 3) or len(x.shape) != 4 or x.dtype != "u1" or y.shape != (x.shape[3], 1):
        raise _damaged(file, f"X is {x.dtype} {x.shape} and y {y.dtype} {y.shape}")
    return x.shape[3]


def _fill(file: Path, pixels: torch.Tensor, labels: torch.Tensor | None) -> None:
    """The first images of a file. H W C N with columns first is, read in order, N C W H."""
    x, y = _variables(file)
    rows, at = pixels.numpy(), 0
    try:
        for piece in x.pieces(BLOCK * VALUES) if len(rows) else ():
            turned = piece.reshape(-1, 3, SIDE, SIDE).swapaxes(2, 3)[: len(rows) - at]
            rows[at : at + len(turned)] = turned
            at += len(turned)
            if at == len(rows):
                break
        if labels is None:
            return
        labels.numpy()[:] = next(y.pieces(len(labels)))
    except Exception as error:  # a damaged file can raise nearly anything
        raise _damaged(file, f"{type(error).__name__}: {error}") from error
    if labels.min() < 1 or labels.max() > 10:
        raise _damaged(file, f"its labels run from {labels.min()} to {labels.max()}, not within 1 .. 10")
    labels.remainder_(10)


def _variables(file: Path) -> tuple[Variable, Variable]:
    try:
        found = variables(file)
        return found["X"], found["y"]
    except Exception as error:  # a damaged file can raise nearly anything
        raise _damaged(file, f"{type(error).__name__}: {error}") from error


def _damaged(file: Path, why: str) -> InputError:
    return InputError(f"{file} is not an SVHN file: {why}. Delete it and run `fewlabels data fetch svhn`")

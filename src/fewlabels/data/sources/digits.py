"""``digits``: scikit-learn's 1,797 handwritten digits of 8 x 8 pixels, installed with it, so never downloaded.

1,200 images to train with, 237 for validation, 360 for the test; the test part is drawn once, stratified, and fixed.
"""

from __future__ import annotations

import torch

from fewlabels.data.images import Images, Source
from fewlabels.data.sources.request import Request, keep_size
from fewlabels.data.splits import draw_split

SIDE, LEVELS = 8, 16
TEST, VALIDATION = 360, 237
TEST_SEED = 2020


def open_digits(request: Request) -> Source:
    """The digits, their 0 .. 16 spread over 0 .. 255. A mirrored digit is not that digit any more, so no flip."""
    from sklearn.datasets import load_digits

    keep_size(request, SIDE)
    data = load_digits()
    pixels = torch.from_numpy(data.images * (255 / LEVELS)).round().to(torch.uint8)[:, None]
    labels = torch.from_numpy(data.target)
    split = draw_split(labels, classes=10, count=TEST, per="proportional", seed=TEST_SEED)
    return Source(
        name="digits",
        classes=tuple("0123456789"),
        train=Images(pixels[split.unlabeled], labels[split.unlabeled]),
        test=Images(pixels[split.labeled], labels[split.labeled]),
        validation_size=VALIDATION,
        default_labels=100,
        flip=False,
    )

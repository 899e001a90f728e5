"""Networks by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial

from torch import nn

from fewlabels.errors import InputError
from fewlabels.models.small import SmallNet
from fewlabels.models.wide_resnet import WideResNet

BACKBONES: dict[str, Callable[..., nn.Module]] = {
    "small": SmallNet,
    "wrn-28-2": partial(WideResNet, 28, 2),
}
_WRN = re.compile(r"wrn-(\d+)-(\d+)")


def build(name: str, classes: int, channels: int) -> nn.Module:
    """The network called ``name``: one of ``BACKBONES``, or ``wrn-DEPTH-WIDTH``.

    >>> type(build("small", classes=10, channels=1)).__name__
    'SmallNet'
    """
    if name in BACKBONES:
        return BACKBONES[name](classes=classes, channels=channels)
    if match := _WRN.fullmatch(name):
        return _wide(name, int(match[1]), int(match[2]), classes, channels)
    near = get_close_matches(name, BACKBONES, n=1, cutoff=0.0)[0]
    raise InputError(
        f"no network is called {name!r}: did you mean {near!r}? Known: {', '.join(BACKBONES)}, wrn-DEPTH-WIDTH"
    )


def _wide(name: str, depth: int, width: int, classes: int, channels: int) -> nn.Module:
    try:
        return WideResNet(depth, width, classes, channels)
    except ValueError as error:
        raise InputError(f"no network is called {name!r}: {error}") from error

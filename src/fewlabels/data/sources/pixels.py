"""Images to be labelled by a trained network: a folder at any depth, one file, an ``.npz`` or arrays, in one shape."""

from __future__ import annotations

from pathlib import Path

import torch

from fewlabels.data.decode import decode
from fewlabels.data.images import UNKNOWN, Images
from fewlabels.data.memory import room_for
from fewlabels.data.sources.arrays import Arrays, read_images, read_members
from fewlabels.data.sources.files import checked_type, images_under
from fewlabels.data.sources.request import data_home
from fewlabels.errors import InputError


def read_pixels(images: str | Path | Arrays, *, shape: tuple[int, int, int]) -> Images:
    """Images of ``shape`` (channels, height, width). Files are brought to it; arrays must have it.

    ``paths`` says where each came from: a file, or the number of its row.

    >>> read_pixels(torch.zeros(2, 8, 8), shape=(1, 8, 8)).paths
    ('0', '1')
    """
    if not isinstance(images, str | Path) or Path(images).suffix.lower() == ".npz":
        return _of_arrays(Path(images) if isinstance(images, str | Path) else images, shape)
    root = Path(images).expanduser()
    if not root.exists():
        raise InputError(f"there is no folder or file {root}: give images, a folder of images or an .npz")
    paths = list(images_under(root)) if root.is_dir() else [checked_type(root)]
    if not paths:
        raise InputError(f"{root} has no image: give a folder with at least one")
    if shape[0] not in (1, 3):
        raise InputError(f"the network takes {shape[0]} channels and image files have 1 or 3: give arrays")
    pixels = room_for(len(paths), shape, data_home())
    decode(paths, pixels)
    return _unlabelled(pixels, tuple(map(str, paths)))


def _of_arrays(data: Path | Arrays, shape: tuple[int, int, int]) -> Images:
    found = read_members(data)
    if "x" not in found:
        raise InputError("there is no array 'x': give images as 'x'")
    pixels = read_images(found["x"], data_home(), shape)
    if pixels.shape[1:] != shape:
        raise InputError(
            f"x has images of {tuple(pixels.shape[1:])} and the network takes {shape} (channels, height, width): "
            "resize them; arrays are never resized here"
        )
    return _unlabelled(pixels, tuple(map(str, range(len(pixels)))))


def _unlabelled(pixels: torch.Tensor, paths: tuple[str, ...]) -> Images:
    return Images(pixels, torch.full((len(pixels),), UNKNOWN), paths)

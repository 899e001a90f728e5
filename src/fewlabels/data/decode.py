"""From image files to pixels: JPEG, PNG, WebP and BMP of any size, brought to one shape.

An image is turned as its EXIF tag says, laid on white where it is transparent, made grey or colour, and, where its size
is another, scaled until its shorter side fits and cut to the centre. Threads decode; Pillow lets them run side by side.
"""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor

from fewlabels.errors import InputError

FORMATS = ("JPEG", "PNG", "WEBP", "BMP")
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp")
GREY = ("1", "L", "LA", "I", "I;16", "I;16B")
SIDEWAYS = (5, 6, 7, 8)  # values of the EXIF orientation that swap height and width
ORIENTATION = 0x0112
TOGETHER = 64  # files a task

Result = TypeVar("Result")


class Header(NamedTuple):
    """What a file says before it is decoded."""

    height: int
    width: int
    grey: bool


def headers(paths: Sequence[Path]) -> set[Header]:
    """The different headers of these files."""
    found: set[Header] = set()
    for some in _in_threads(lambda part: {_header(path) for path in paths[part]}, len(paths)):
        found |= some
    return found


def decode(paths: Sequence[Path], pixels: UInt8[Tensor, "n c h w"]) -> list[bytes]:
    """Fill ``pixels`` with these files' images; a digest of each file, equal where the files are."""
    rows = pixels.numpy()

    def fill(part: slice) -> list[bytes]:
        return [_fill(row, path) for row, path in zip(rows[part], paths[part], strict=True)]

    return [digest for some in _in_threads(fill, len(paths)) for digest in some]


def is_image(path: Path) -> bool:
    """Whether its name ends as an image's does.

    >>> is_image(Path("photo.JPG")), is_image(Path("notes.txt"))
    (True, False)
    """
    return path.suffix.lower() in ENDINGS


def _in_threads(work: Callable[[slice], Result], count: int) -> list[Result]:
    """Work on slices of 0 .. count - 1, in order; the first error ends it."""
    parts = [slice(i, min(i + TOGETHER, count)) for i in range(0, count, TOGETHER)]
    with warnings.catch_warnings(), ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        return list(pool.map(work, parts))


def _header(path: Path) -> Header:
    with _refusing(path), _opened(path) as image:
        width, height = image.size
        if image.getexif().get(ORIENTATION) in SIDEWAYS:
            width, height = height, width
        return Header(height, width, image.mode in GREY)


def _fill(row: np.ndarray, path: Path) -> bytes:
    with _refusing(path):
        content = path.read_bytes()
        with _opened(io.BytesIO(content)) as image:
            row[:] = _pixels(image, *row.shape)
    return hashlib.blake2b(content, digest_size=16).digest()


def _pixels(image: Image.Image, channels: int, height: int, width: int) -> np.ndarray:
    enough = 2 * max(height, width)
    image.draft(None, (enough, enough))  # a large JPEG is cheaper to decode at a half, a quarter ... of its size
    image = _on_white(ImageOps.exif_transpose(image))
    image = _eight_bits(image).convert("L" if channels == 1 else "RGB")
    if image.size != (width, height):
        image = ImageOps.fit(image, (width, height), method=Image.Resampling.BICUBIC)
    return np.asarray(image).reshape(height, width, channels).transpose(2, 0, 1)


def _on_white(image: Image.Image) -> Image.Image:
    if not image.has_transparency_data:
        return image
    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)


def _eight_bits(image: Image.Image) -> Image.Image:
    """The upper byte of 16-bit greys, which Pillow itself would clip."""
    if not image.mode.startswith("I"):
        return image
    return Image.fromarray((np.asarray(image) // 256).clip(0, 255).astype(np.uint8))


def _opened(file: Path | io.BytesIO) -> Image.Image:
    return Image.open(file, formats=FORMATS)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise InputError(
            f"{path} has more than {Image.MAX_IMAGE_PIXELS:,} pixels, too many to be decoded safely: make it smaller"
        ) from None
    except Exception as error:  # a damaged file can raise nearly anything
        raise InputError(
            f"{path} cannot be read as a JPEG, PNG, WebP or BMP image ({_reason(error)}): replace it or leave it out"
        ) from error


def _reason(error: Exception) -> str:
    return "its content is none of these" if isinstance(error, UnidentifiedImageError) else str(error)

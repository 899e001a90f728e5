"""The gallery's sheet of pictures inside the page, in no more bytes than it is given."""

from __future__ import annotations

import dataclasses
import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from fewlabels.errors import InputError
from fewlabels.report.heat import data_uri
from fewlabels.report.runs import Gallery

QUALITIES = (90, 75, 60, 45)


@dataclass(frozen=True)
class Sprite:
    """A sheet as a data URI, and the gallery as it is on it: too many tiles are cut off at the end."""

    uri: str
    gallery: Gallery

    @property
    def rows(self) -> int:
        """Rows of tiles."""
        return -(-len(self.gallery.tiles) // self.gallery.columns)


def make_sprite(gallery: Gallery, limit: int) -> Sprite | None:
    """The sheet as it is, else as WebP of falling quality, else with fewer pictures; None if not one row fits."""
    sheet = _open(gallery)
    content = gallery.image.read_bytes()
    if _fits(content, limit):
        return Sprite(data_uri("image/png", content), gallery)
    rows = -(-len(gallery.tiles) // gallery.columns)
    while rows:
        part = sheet.crop((0, 0, sheet.width, rows * gallery.tile[1]))
        for quality in QUALITIES:
            content = _webp(part, quality)
            if _fits(content, limit):
                tiles = gallery.tiles[: rows * gallery.columns]
                return Sprite(data_uri("image/webp", content), dataclasses.replace(gallery, tiles=tiles))
        rows //= 2
    return None


def _fits(content: bytes, limit: int) -> bool:
    return 4 * len(content) / 3 + 32 <= limit  # base64 makes four characters of three bytes


def _open(gallery: Gallery) -> Image.Image:
    try:
        with Image.open(gallery.image) as image:
            sheet = image.convert("RGB")
    except (OSError, SyntaxError) as error:
        raise _unusable(gallery.image, str(error)) from error
    rows = -(-len(gallery.tiles) // gallery.columns)
    needed = (gallery.columns * gallery.tile[0], rows * gallery.tile[1])
    if sheet.size != needed:
        raise _unusable(
            gallery.image, f"it is {sheet.width} x {sheet.height} pixels, its list needs {needed[0]} x {needed[1]}"
        )
    return sheet


def _unusable(path: Path, why: str) -> InputError:
    return InputError(f"{path} cannot be shown ({why}): remove it, and the page goes without")


def _webp(sheet: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    sheet.save(out, "WEBP", quality=quality, method=4)
    return out.getvalue()

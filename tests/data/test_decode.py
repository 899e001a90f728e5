"""Image files: formats, colours, sizes, and what cannot be read."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from made_images import BLUE, RED, noise, save
from PIL import Image
from torch import Tensor

from fewlabels.data.decode import ORIENTATION, Header, decode, headers
from fewlabels.errors import InputError


def read(path: Path, channels: int = 3, height: int = 8, width: int | None = None) -> Tensor:
    pixels = torch.zeros(1, channels, height, width or height, dtype=torch.uint8)
    decode([path], pixels)
    return pixels[0]


def flat(colour: tuple[int, ...], height: int = 8, width: int = 8) -> np.ndarray:
    return np.full((height, width, len(colour)), colour, dtype=np.uint8)


def colour(image: Tensor) -> list[int]:
    """Of an image that has one."""
    return image.float().mean((1, 2)).round().int().tolist()


@pytest.mark.parametrize("ending", ["png", "bmp", "webp"])
def test_lossless_formats_are_read_to_the_bit(tmp_path: Path, ending: str) -> None:
    pixels = noise(0)
    options = {"lossless": True} if ending == "webp" else {}
    path = save(tmp_path / f"a.{ending}", pixels, **options)
    assert torch.equal(read(path), torch.from_numpy(pixels).permute(2, 0, 1))


def test_jpeg_is_read_nearly(tmp_path: Path) -> None:
    path = save(tmp_path / "a.jpeg", flat(RED), quality=95)
    assert (read(path).float().mean((1, 2)) - torch.tensor(RED)).abs().max() < 4


def test_grey_becomes_colour_and_colour_grey(tmp_path: Path) -> None:
    grey = save(tmp_path / "grey.png", noise(0, channels=1))
    assert torch.equal(read(grey), read(grey, channels=1).expand(3, 8, 8))
    luma = round(0.299 * RED[0] + 0.587 * RED[1] + 0.114 * RED[2])
    assert abs(colour(read(save(tmp_path / "red.png", flat(RED)), channels=1))[0] - luma) <= 1


def test_what_is_transparent_shows_white(tmp_path: Path) -> None:
    assert colour(read(save(tmp_path / "clear.png", flat((*RED, 0))))) == [255, 255, 255]
    assert colour(read(save(tmp_path / "solid.png", flat((*RED, 255))))) == list(RED)
    half = [round((c * 128 + 255 * 127) / 255) for c in RED]
    assert (
        torch.tensor(colour(read(save(tmp_path / "half.png", flat((*RED, 128)))))).sub(torch.tensor(half)).abs().max()
        <= 1
    )
    assert colour(read(save(tmp_path / "grey.png", flat((9, 0))), channels=1)) == [255]


def test_palettes_and_bits_are_read(tmp_path: Path) -> None:
    Image.fromarray(flat(BLUE)).convert("P", palette=Image.Palette.ADAPTIVE).save(tmp_path / "palette.png")
    assert colour(read(tmp_path / "palette.png")) == list(BLUE)
    Image.fromarray(flat((255,)).squeeze()).convert("1").save(tmp_path / "bits.png")
    assert colour(read(tmp_path / "bits.png", channels=1)) == [255]


def test_sixteen_bits_keep_the_upper_ones(tmp_path: Path) -> None:
    levels = np.linspace(0, 65_535, 64).astype(np.uint16).reshape(8, 8)
    Image.fromarray(levels).save(tmp_path / "deep.png")
    assert torch.equal(read(tmp_path / "deep.png", channels=1)[0], torch.from_numpy((levels // 256).astype(np.uint8)))


@pytest.mark.parametrize("turn", range(1, 9))
def test_the_exif_orientation_is_followed(tmp_path: Path, turn: int) -> None:
    upright = np.zeros((8, 16, 3), np.uint8)
    upright[:, :8], upright[4:] = RED, upright[4:] // 2 + 60  # no two orientations look alike
    mirrored = upright[:, ::-1]
    stored = {
        1: upright,
        2: mirrored,
        3: np.rot90(upright, 2),
        4: np.rot90(mirrored, 2),
        5: np.rot90(mirrored, 1),
        6: np.rot90(upright, 1),
        7: np.rot90(mirrored, -1),
        8: np.rot90(upright, -1),
    }[turn]
    exif = Image.Exif()
    exif[ORIENTATION] = turn
    path = save(tmp_path / "a.png", np.ascontiguousarray(stored), exif=exif)
    assert torch.equal(read(path, height=8, width=16), torch.from_numpy(upright).permute(2, 0, 1))
    assert headers([path]) == {Header(8, 16, grey=False)}


def test_other_sizes_are_scaled_and_cut_to_the_centre(tmp_path: Path) -> None:
    wide = np.concatenate([flat(BLUE, 20, 10), flat(RED, 20, 20), flat(BLUE, 20, 10)], axis=1)
    assert colour(read(save(tmp_path / "wide.png", wide))[:, :, 1:-1]) == pytest.approx(RED, abs=2)
    assert colour(read(save(tmp_path / "tall.png", wide.transpose(1, 0, 2)))[:, 1:-1]) == pytest.approx(RED, abs=2)
    assert colour(read(save(tmp_path / "small.png", flat(RED, 3, 3)))) == list(RED)


def test_scaling_down_averages(tmp_path: Path) -> None:
    checkers = np.indices((64, 64)).sum(0) % 2 * np.uint8(255)
    shown = read(save(tmp_path / "a.png", checkers.astype(np.uint8)), channels=1)
    assert (shown.float() - 127.5).abs().max() < 12


def test_a_large_jpeg_is_the_same_image_smaller(tmp_path: Path) -> None:
    ramp = np.linspace(0, 255, 512).astype(np.uint8)[None, :, None].repeat(512, 0).repeat(3, 2)
    small = read(save(tmp_path / "a.jpg", ramp, quality=95)).float().mean((0, 1))
    assert torch.allclose(small, torch.from_numpy(ramp[0, 32::64, 0]).float(), atol=4)


def test_many_files_keep_their_order(tmp_path: Path) -> None:
    paths = [save(tmp_path / f"{i}.png", noise(i)) for i in range(150)]
    pixels = torch.empty(150, 3, 8, 8, dtype=torch.uint8)
    digests = decode(paths, pixels)
    assert all(torch.equal(row, torch.from_numpy(noise(i)).permute(2, 0, 1)) for i, row in enumerate(pixels))
    assert len(set(digests)) == 150


def test_equal_files_have_equal_digests(tmp_path: Path) -> None:
    paths = [save(tmp_path / name, noise(0)) for name in ("a.png", "b.png")]
    first, second = decode(paths, torch.empty(2, 3, 8, 8, dtype=torch.uint8))
    assert first == second


def test_headers_tell_sizes_and_whether_all_is_grey(tmp_path: Path) -> None:
    grey = save(tmp_path / "grey.png", noise(0, 5, channels=1))
    clear = save(tmp_path / "clear.png", noise(0, 5, channels=2))
    red = save(tmp_path / "red.png", flat(RED, 4, 6))
    assert headers([grey, clear]) == {Header(5, 5, grey=True)}
    assert headers([grey, red]) == {Header(5, 5, grey=True), Header(4, 6, grey=False)}


def png_of(width: int, height: int) -> bytes:
    """A PNG that claims a size it does not have."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def refused(path: Path, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        read(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("side", [10_000, 20_000, 65_000])
def test_a_decompression_bomb_is_refused_from_its_header(tmp_path: Path, side: int) -> None:
    (tmp_path / "bomb.png").write_bytes(png_of(side, side))
    refused(tmp_path / "bomb.png", "has more than 89,478,485 pixels")
    with pytest.raises(InputError, match="too many to be decoded safely"):
        headers([tmp_path / "bomb.png"])


@pytest.mark.parametrize("ending", ["png", "jpg", "webp", "bmp"])
@pytest.mark.parametrize("share", [0.6, 0.02])
def test_a_truncated_image_is_refused(tmp_path: Path, ending: str, share: float) -> None:
    path = save(tmp_path / f"a.{ending}", noise(0, 64))
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    refused(path, "cannot be read as a JPEG, PNG, WebP or BMP image")


def test_other_content_is_refused_whatever_the_name_says(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("hello")
    refused(tmp_path / "text.png", "its content is none of these")
    (tmp_path / "empty.jpg").touch()
    refused(tmp_path / "empty.jpg", "its content is none of these")
    Image.fromarray(flat(RED)).save(tmp_path / "a.gif")
    (tmp_path / "a.gif").rename(tmp_path / "a.png")
    refused(tmp_path / "a.png", "its content is none of these")
    refused(tmp_path / "missing.png", "No such file")


def test_the_first_bad_file_of_many_ends_it(tmp_path: Path) -> None:
    paths = [save(tmp_path / f"{i:03}.png", noise(i)) for i in range(200)]
    for i in (150, 70):
        paths[i].write_text("hello")
    with pytest.raises(InputError, match=r"070\.png"):
        headers(paths)

"""MATLAB's file format, version 5, as far as arrays of numbers go: read from the front, a piece at a time.

A file is a header of 128 bytes, then elements: a type, a length, the bytes. A compressed element holds another one. An
array's element holds elements for its flags, its dimensions, its name and its numbers, columns first.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, runtime_checkable

import numpy as np

HEADER = 128
MATRIX, COMPRESSED = 14, 15
NUMBERS = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8"}
CHUNK = 1 << 16  # bytes inflated together


@dataclass(frozen=True)
class Variable:
    """An array in a file: where its element starts and what it says about itself."""

    file: Path
    start: int
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype

    def pieces(self, count: int) -> Iterator[np.ndarray]:
        """Its numbers in the file's order, ``count`` at a time."""
        left = int(np.prod(self.shape))
        with self.file.open("rb") as stream:
            stream.seek(self.start)
            source = _element(stream)
            _matrix(source)
            while left:
                raw = source.read(min(count, left) * self.dtype.itemsize)
                piece = np.frombuffer(raw, self.dtype)
                if len(piece) < min(count, left):
                    raise ValueError(f"{self.name} ends {left - len(piece)} numbers early")
                left -= len(piece)
                yield piece
            source.read(8)  # past the end, where an inflated element is checked


def variables(file: Path) -> dict[str, Variable]:
    """The arrays of a file by name; their numbers are not read."""
    found, start, end = {}, HEADER, file.stat().st_size
    with file.open("rb") as stream:
        if stream.read(HEADER)[124:] != b"\x00\x01IM":
            raise ValueError("it is not a version 5 file in little-endian order")
        while start < end:
            _, length = struct.unpack("<II", stream.read(8))
            stream.seek(start)
            name, shape, dtype = _matrix(_element(stream))
            found[name] = Variable(file, start, name, shape, dtype)
            start += 8 + length
            stream.seek(start)
    return found


@runtime_checkable
class Readable(Protocol):
    """A file, or what comes out of a compressed element."""

    def read(self, size: int, /) -> bytes:
        """The next ``size`` bytes, fewer at the end."""


class _Inflated:
    """The content of a compressed element."""

    def __init__(self, stream: IO[bytes], length: int) -> None:
        self._stream, self._left, self._inflater = stream, length, zlib.decompressobj()

    def read(self, size: int, /) -> bytes:
        parts = []
        while size:
            raw = self._inflater.unconsumed_tail
            if not raw:
                raw = self._stream.read(min(CHUNK, self._left))
                self._left -= len(raw)
            part = self._inflater.decompress(raw, size)
            if not raw and not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _element(stream: IO[bytes]) -> Readable:
    """What an element at the top says, inflated if need be; it starts with an array's tag."""
    kind, length = struct.unpack("<II", stream.read(8))
    if kind == COMPRESSED:
        return _Inflated(stream, length)
    stream.seek(-8, 1)
    return stream


def _matrix(source: Readable) -> tuple[str, tuple[int, ...], np.dtype]:
    """Name, shape and type of an array; its numbers come next."""
    kind, _ = struct.unpack("<II", source.read(8))
    if kind != MATRIX:
        raise ValueError(f"an element has type {kind}, not an array's {MATRIX}")
    _small(source)  # flags
    shape = tuple(np.frombuffer(_small(source), "<i4").tolist())
    name = _small(source).decode("ascii")
    kind, length = struct.unpack("<II", source.read(8))
    dtype = np.dtype(NUMBERS[kind])
    if length != np.prod(shape) * dtype.itemsize:
        raise ValueError(f"{name} of shape {shape} has {length} bytes")
    return name, shape, dtype


def _small(source: Readable) -> bytes:
    """A short element. One of up to four bytes keeps them in its tag; others end at a multiple of eight."""
    first, length = struct.unpack("<II", tag := source.read(8))
    if first >> 16:
        return tag[4 : 4 + (first >> 16)]
    return source.read(length + -length % 8)[:length]

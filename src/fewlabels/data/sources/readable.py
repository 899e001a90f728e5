"""What the readers of archives read from."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Readable(Protocol):
    """A stream of bytes: a file, or what comes out of a compressed one."""

    def read(self, size: int, /) -> bytes:
        """The next ``size`` bytes, fewer at the end."""

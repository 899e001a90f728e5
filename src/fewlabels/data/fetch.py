"""Download a benchmark's official archives: what is broken off goes on, what is wrong is thrown away.

An archive arrives in a ``.part`` file beside its target. Only when its size and its checksum are right is it unpacked,
each file moved into its place at once, so that a data set is either there or not.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fewlabels.data.sources.request import data_home
from fewlabels.errors import InputError, RunError

CHUNK = 1 << 20
TRIES = 5  # connections in a row that may break without a byte gained
PATIENCE = 30.0  # seconds without an answer
GO_ON = "run the same command again: it goes on from there"
Advance = Callable[[int], None]  # told how many bytes are there


@dataclass(frozen=True)
class Archive:
    """One file to download, and the files it becomes."""

    url: str
    size: int
    md5: str
    folder: str  # under the data folder
    files: tuple[str, ...]

    @property
    def name(self) -> str:
        """The last part of its address."""
        return PurePosixPath(self.url).name


CIFAR10 = Archive(
    "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
    170_498_071,
    "c58f30108f718f92721af3b95e74349a",
    "cifar-10-batches-py",
    (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch", "batches.meta"),
)


def _svhn(name: str, size: int, md5: str) -> Archive:
    return Archive(f"http://ufldl.stanford.edu/housenumbers/{name}", size, md5, "svhn", (name,))


SVHN = (
    _svhn("train_32x32.mat", 182_040_794, "e26dedcc434d2e4c54c9b2d4a06d8373"),
    _svhn("test_32x32.mat", 64_275_384, "eb5a983be6a315427106f1b164d9cef3"),
)
EXTRA = _svhn("extra_32x32.mat", 1_329_278_602, "a93ce644f1a588dc4d68dda5feec44a7")

ARCHIVES: Mapping[str, tuple[Archive, ...]] = {"cifar10": (CIFAR10,), "svhn": SVHN, "svhn-extra": (*SVHN, EXTRA)}


def fetch(
    name: str, data_dir: str | Path | None = None, *, archives: Mapping[str, tuple[Archive, ...]] = ARCHIVES
) -> Path:
    """Download what is missing of the data set ``name``; the folder it is in.

    >>> fetch("mnist")
    Traceback (most recent call last):
    fewlabels.errors.InputError: 'mnist' cannot be fetched: choose one of cifar10, svhn, svhn-extra
    """
    if name not in archives:
        raise InputError(f"{name!r} cannot be fetched: choose one of {', '.join(archives)}")
    home = data_home(data_dir)
    for archive in archives[name]:
        target = home / archive.folder
        if not all((target / file).is_file() for file in archive.files):
            _fetch_one(archive, home)
    return home / archives[name][0].folder


def _fetch_one(archive: Archive, home: Path) -> None:
    part = home / f"{archive.name}.part"
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _bar(archive) as advance:
            _download(archive, part, advance)
        _check(archive, part)
        _place(archive, part, home)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(GO_ON) from None
    except OSError as error:
        raise RunError(
            f"{archive.name} could not be written under {home}: {error}. Make room or change --data-dir"
        ) from error


def _download(archive: Archive, part: Path, advance: Advance) -> None:
    """Receive until all bytes are there; each try goes on where the last one broke off."""
    tries, most = 0, -1
    while (have := _size(part)) < archive.size:
        tries = 0 if have > most else tries + 1
        most = max(most, have)
        if tries == TRIES:
            raise RunError(f"{archive.url} broke off at {have:,} of {archive.size:,} bytes; {GO_ON}")
        try:
            _receive(archive, part, have, advance)
        except urllib.error.HTTPError as error:
            if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise RunError(f"{archive.url} answered {error.code} {error.reason}; try again later") from None
            part.unlink()  # it is not the beginning of what the server has
        except urllib.error.URLError as error:
            raise RunError(f"{archive.url} cannot be reached ({error.reason}): check the network; {GO_ON}") from None
        except (http.client.HTTPException, ConnectionError, TimeoutError):
            pass  # broken off: the next try goes on


def _receive(archive: Archive, part: Path, have: int, advance: Advance) -> None:
    """One connection's worth. A server that knows no ranges sends everything, and so everything is written anew."""
    request = urllib.request.Request(archive.url, headers={"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        goes_on = answer.status == http.HTTPStatus.PARTIAL_CONTENT
        with part.open("ab" if goes_on else "wb") as file:
            while file.tell() <= archive.size and (chunk := answer.read(CHUNK)):
                file.write(chunk)
                advance(file.tell())


def _check(archive: Archive, part: Path) -> None:
    size = _size(part)
    with part.open("rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if (size, found) != (archive.size, archive.md5):
        part.unlink()
        raise RunError(
            f"{archive.url} sent {size:,} bytes with checksum {found}, and {archive.size:,} with {archive.md5} are "
            "right; they were thrown away: try again, and if it happens again look for what changes the file on the way"
        )


def _place(archive: Archive, part: Path, home: Path) -> None:
    """Move what arrived, or what is in it, to where it belongs."""
    target = home / archive.folder
    if not archive.name.endswith(".tar.gz"):
        target.mkdir(exist_ok=True)
        os.replace(part, target / archive.name)
        return
    with tempfile.TemporaryDirectory(dir=home, prefix=".unpacking-") as scratch:
        try:
            _unpack(archive, part, Path(scratch))
        finally:
            part.unlink()
        target.mkdir(exist_ok=True)
        for file in archive.files:
            os.replace(Path(scratch, file), target / file)


def _unpack(archive: Archive, part: Path, scratch: Path) -> None:
    """Write the promised files and no others, under names of ours."""
    promised = {f"{archive.folder}/{file}": file for file in archive.files}
    try:
        with tarfile.open(part) as content:
            for member in content:
                _check_member(archive, member)
                file, inside = promised.pop(member.name, None), content.extractfile(member)
                if file is not None and inside is not None:
                    with Path(scratch, file).open("wb") as out:
                        shutil.copyfileobj(inside, out, CHUNK)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise RunError(f"{archive.url} is not an archive that can be unpacked ({error}); it was thrown away") from error
    if promised:
        raise RunError(f"{archive.url} does not hold {next(iter(promised))}; it was thrown away: try again later")


def _check_member(archive: Archive, member: tarfile.TarInfo) -> None:
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
        raise RunError(
            f"{archive.url} holds {member.name}, a link or a path that leaves its folder, as no official archive does; "
            "nothing was unpacked and it was thrown away"
        )


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


@contextmanager
def _bar(archive: Archive) -> Iterator[Advance]:
    """A progress bar where someone can see it."""
    if not sys.stderr.isatty():
        yield lambda have: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task(archive.name, total=archive.size)
        yield lambda have: progress.update(task, completed=have)

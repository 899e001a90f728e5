"""Downloads, from a server on this machine."""

from __future__ import annotations

import hashlib
import io
import socket
import tarfile
from pathlib import Path

import numpy as np
import pytest
from archive_server import Server, serve
from made_images import svhn_files

from fewlabels.data.fetch import ARCHIVES, CIFAR10, TRIES, Archive, fetch
from fewlabels.data.sources import open_source
from fewlabels.errors import RunError

FILES = {"data_batch_1": b"one" * 50_000, "test_batch": np.random.default_rng(0).bytes(400_000)}
NAME = "little.tar.gz"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def tar(files: dict[str, bytes], *more: tarfile.TarInfo) -> bytes:
    """An archive of these files in a folder, and members of other kinds."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"little/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for member in more:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return out.getvalue()


def of(server: Server, content: bytes, **changes: object) -> dict[str, tuple[Archive, ...]]:
    """A catalogue with the one archive that is served."""
    facts = {"url": server.url(NAME), "size": len(content), "md5": hashlib.md5(content).hexdigest()}
    return {"little": (Archive(**{**facts, "folder": "little", "files": tuple(FILES), **changes}),)}  # type: ignore[arg-type]


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def is_complete(home: Path) -> bool:
    """Everything in place and nothing beside it."""
    expected = {"little", *(f"little/{name}" for name in FILES)}
    return names(home) == expected and all((home / "little" / n).read_bytes() == c for n, c in FILES.items())


def test_an_archive_is_downloaded_checked_and_unpacked(tmp_path: Path) -> None:
    content = tar(FILES, tarfile.TarInfo("little/readme.html"))
    with serve({NAME: content}) as server:
        assert fetch("little", tmp_path, archives=of(server, content)) == tmp_path / "little"
        assert server.asked == [None]
    assert is_complete(tmp_path)


def test_what_is_there_is_not_downloaded_again(tmp_path: Path) -> None:
    content = tar(FILES)
    with serve({NAME: content}) as server:
        for _ in range(2):
            fetch("little", tmp_path, archives=of(server, content))
        assert len(server.asked) == 1


def test_a_broken_connection_goes_on_where_it_broke(tmp_path: Path) -> None:
    content = tar(FILES)
    with serve({NAME: content}, cuts=[1000, 5000]) as server:
        fetch("little", tmp_path, archives=of(server, content))
        assert server.asked == [None, "bytes=1000-", "bytes=6000-"]
    assert is_complete(tmp_path)


def test_a_second_call_goes_on_where_the_first_gave_up(tmp_path: Path) -> None:
    content = tar(FILES)
    with serve({NAME: content}, cuts=[1000] + [0] * TRIES) as server:
        with pytest.raises(
            RunError, match=rf"broke off at 1,000 of {len(content):,} bytes; run the same command again"
        ):
            fetch("little", tmp_path, archives=of(server, content))
        assert names(tmp_path) == {f"{NAME}.part"}
        fetch("little", tmp_path, archives=of(server, content))
        assert server.asked[-1] == "bytes=1000-"
    assert is_complete(tmp_path)


def test_a_server_without_ranges_starts_anew(tmp_path: Path) -> None:
    content = tar(FILES)
    with serve({NAME: content}, cuts=[1000], ranges=False) as server:
        fetch("little", tmp_path, archives=of(server, content))
        assert server.asked == [None, "bytes=1000-"]
    assert is_complete(tmp_path)


def test_a_part_longer_than_what_the_server_has_is_dropped(tmp_path: Path) -> None:
    content = tar(FILES)
    (tmp_path / f"{NAME}.part").write_bytes(b"?" * len(content))
    with serve({NAME: content}) as server:
        larger = of(server, content, size=len(content) + 1)
        with pytest.raises(RunError, match="broke off"):  # it never becomes as long as it should
            fetch("little", tmp_path, archives=larger)
        assert server.asked[:2] == [f"bytes={len(content)}-", None]


@pytest.mark.parametrize("changes", [{"md5": "0" * 32}, {"size": 1000}])
def test_a_wrong_checksum_or_size_is_thrown_away(tmp_path: Path, changes: dict[str, object]) -> None:
    content = tar(FILES)
    with serve({NAME: content}) as server, pytest.raises(RunError, match="were thrown away: try again"):
        fetch("little", tmp_path, archives=of(server, content, **changes))
    assert names(tmp_path) == set()


def _member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    member.size = 5 if kind == tarfile.REGTYPE else 0
    return member


@pytest.mark.parametrize(
    "member",
    [
        _member("../outside"),
        _member("little/../../outside"),
        _member("/tmp/outside"),
        _member("little/test_batch", tarfile.SYMTYPE, "/etc/passwd"),
        _member("little/link", tarfile.SYMTYPE, "../.."),
        _member("little/link", tarfile.LNKTYPE, "/etc/passwd"),
        _member("little/device", tarfile.CHRTYPE),
    ],
    ids=lambda member: f"{member.name}-{member.type.decode()}",
)
def test_a_malicious_archive_writes_nothing(tmp_path: Path, member: tarfile.TarInfo) -> None:
    home = tmp_path / "deep" / "home"
    content = tar(FILES, member)
    with serve({NAME: content}) as server, pytest.raises(RunError, match="nothing was unpacked"):
        fetch("little", home, archives=of(server, content))
    assert names(tmp_path) == {"deep", "deep/home"}


@pytest.mark.parametrize("content", [tar({"data_batch_1": b""}), tar(FILES)[:5000], b"no archive at all" * 10])
def test_an_archive_without_the_files_is_thrown_away(tmp_path: Path, content: bytes) -> None:
    with serve({NAME: content}) as server, pytest.raises(RunError, match="it was thrown away"):
        fetch("little", tmp_path, archives=of(server, content))
    assert names(tmp_path) == set()


def test_a_plain_file_is_put_in_its_place(tmp_path: Path) -> None:
    made = svhn_files(tmp_path / "made")
    files = {path.name: path.read_bytes() for path in made.iterdir()}
    with serve(files) as server:
        catalogue = {
            "svhn": tuple(
                Archive(server.url(name), len(c), hashlib.md5(c).hexdigest(), "svhn", (name,))
                for name, c in files.items()
            )
        }
        fetch("svhn", tmp_path / "home", archives=catalogue)
    assert names(tmp_path / "home") == {"svhn", "svhn/train_32x32.mat", "svhn/test_32x32.mat"}
    assert len(open_source("svhn", data_dir=tmp_path / "home").train) == 40


def test_without_a_network_it_says_so(tmp_path: Path) -> None:
    with socket.socket() as taken:  # a port where nobody answers
        taken.bind(("127.0.0.1", 0))
        server = Server({}, address=f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(RunError, match=r"cannot be reached \(.*\): check the network; run the same command again"):
            fetch("little", tmp_path, archives=of(server, b"x"))
    assert names(tmp_path) == set()


def test_an_error_of_the_server_is_told(tmp_path: Path) -> None:
    with serve({NAME: b"x"}, status=503) as server, pytest.raises(RunError, match="answered 503 Service Unavailable"):
        fetch("little", tmp_path, archives=of(server, b"x"))


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with serve({NAME: b"x"}) as server, pytest.raises(RunError, match="could not be written under"):
        fetch("little", tmp_path / "file", archives=of(server, b"x"))


def test_a_terminal_shows_a_bar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = tar(FILES)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    with serve({NAME: content}) as server:
        fetch("little", tmp_path, archives=of(server, content))
    shown = capsys.readouterr()
    assert NAME in shown.err
    assert shown.out == ""


def test_the_catalogue_is_the_official_one() -> None:
    assert {name: sum(archive.size for archive in some) for name, some in ARCHIVES.items()} == {
        "cifar10": 170_498_071,
        "svhn": 246_316_178,
        "svhn-extra": 1_575_594_780,
    }
    assert CIFAR10.url == "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    assert all(len(archive.md5) == 32 for some in ARCHIVES.values() for archive in some)

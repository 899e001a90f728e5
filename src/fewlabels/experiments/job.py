"""One run of a table, wherever it is computed: started, gone on with, or found finished."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, runtime_checkable

from fewlabels.errors import RunError
from fewlabels.train import run as runs
from fewlabels.train.config import Config
from fewlabels.train.folder import RunFolder

TAIL = 16_384  # bytes at the end of metrics.jsonl that hold its last line


@dataclass(frozen=True)
class Job:
    """A request and the folder where it is carried out, which may hold a part of it already."""

    config: Config
    folder: Path

    @property
    def lock(self) -> Path:
        """Held while the run is trained; it says by whom."""
        return self.folder.with_name(f"{self.folder.name}.lock")

    @property
    def cut_off(self) -> bool:
        """Whether there is a checkpoint to go on from."""
        run = RunFolder(self.folder)
        return run.checkpoint.is_file() and not run.finished

    @property
    def steps_done(self) -> int:
        """How far the run has come, from the last whole line of its metrics."""
        try:
            with RunFolder(self.folder).metrics.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
                lines = file.read().split(b"\n")[:-1]
            return int(json.loads(lines[-1])["step"]) if lines else 0
        except (FileNotFoundError, ValueError):  # not begun, or a line of more than TAIL bytes
            return 0


def work(job: Job) -> Path:
    """Carry a job out in this process; the path of its record."""
    run = RunFolder(job.folder)
    with _held(job.lock):
        if run.finished or run.checkpoint.is_file():
            runs.resume(job.folder, device=job.config.device, data_dir=job.config.data_dir)
        else:
            if job.folder.exists():  # cut off before its first checkpoint: nothing in it can be used
                shutil.rmtree(job.folder)
            runs.start(job.config, job.folder)
    return run.record


@contextmanager
def _held(lock: Path) -> Iterator[None]:
    """Nobody else trains into the same folder; the system frees the lock when the process ends, however it ends."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise RunError(
                f"it is being trained by {file.read().strip() or 'another process'}: wait for that"
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield


@runtime_checkable
class Pool(Protocol):
    """Whoever carries jobs out: processes here, or a cluster. Within ``with``; it queues and retries by itself."""

    slots: int | None  # jobs to hand over at once; None: all of them

    def __enter__(self) -> Pool:
        """Begin."""

    def submit(self, job: Job) -> Future[Path]:
        """Hand a job over; the future is the path of its record."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, at once if there was an error."""

"""Runs on this machine: processes that each train one run at a time and share its cores and its GPUs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType

import torch

from fewlabels.experiments.job import Job, work


@dataclass
class _Slot:
    """A process, its share of the machine, and what it was last given to do."""

    gpu: str | None
    threads: int
    pool: ProcessPoolExecutor
    last: Future[Path] | None = None


class Local:
    """``jobs`` spawned processes, each with its own share. One that is killed takes down its own run and no other."""

    def __init__(self, jobs: int) -> None:
        self.slots: int | None = jobs
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        gpus = visible.split(",") if visible else [str(i) for i in range(torch.cuda.device_count())]
        threads = max(1, torch.get_num_threads() // jobs)
        shares = [(gpus[slot % len(gpus)] if gpus else None, threads) for slot in range(jobs)]
        self._slots = [_Slot(*share, pool=_process(*share)) for share in shares]
        self._before: set[BaseProcess] = set()

    def __enter__(self) -> Local:
        self._before = set(multiprocessing.active_children())
        return self

    def submit(self, job: Job) -> Future[Path]:
        """Have a job done by a process that is free; there is one while fewer than ``slots`` are being done."""
        slot = next(slot for slot in self._slots if slot.last is None or slot.last.done())
        try:
            slot.last = slot.pool.submit(work, job)
        except BrokenProcessPool:  # it was killed with the job before this one
            slot.pool = _process(slot.gpu, slot.threads)
            slot.last = slot.pool.submit(work, job)
        return slot.last

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the processes, or stop them at once when the command was interrupted."""
        for slot in self._slots:
            slot.pool.shutdown(wait=error is None, cancel_futures=True)
        if error is not None:
            mine = set(multiprocessing.active_children()) - self._before
            for process in mine:
                process.terminate()
            for process in mine:
                process.join()


def _process(gpu: str | None, threads: int) -> ProcessPoolExecutor:
    """One process, spawned when it is first given something to do."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(gpu, threads))


def _begin(gpu: str | None, threads: int) -> None:
    """A process's beginning: its share of the cores, one of the GPUs, and an end no later than its parent's."""
    torch.set_num_threads(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # the checkpoint is whole at any time; nobody would gather the result

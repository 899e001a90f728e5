"""Runs on this machine: processes that each train one run at a time and share its cores and its GPUs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from fewlabels.experiments.job import Job, work


class Local:
    """``jobs`` spawned processes. A process that is killed takes its run down, not the others' results."""

    def __init__(self, jobs: int) -> None:
        self.slots: int | None = jobs
        self._jobs = jobs
        self._context = multiprocessing.get_context("spawn")
        self._before: set[BaseProcess] = set()

    def __enter__(self) -> Local:
        self._before = set(multiprocessing.active_children())
        self._pool = self._fresh()
        return self

    def submit(self, job: Job) -> Future[Path]:
        """Have a job done by the next free process."""
        try:
            return self._pool.submit(work, job)
        except BrokenProcessPool:  # a process was killed: its fellows are stopped too, and all come back
            self._pool = self._fresh()
            return self._pool.submit(work, job)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the processes, or stop them at once when the command was interrupted."""
        self._pool.shutdown(wait=error is None, cancel_futures=True)
        if error is not None:
            mine = set(multiprocessing.active_children()) - self._before
            for process in mine:
                process.terminate()
            for process in mine:
                process.join()

    def _fresh(self) -> ProcessPoolExecutor:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        gpus = visible.split(",") if visible else [str(i) for i in range(torch.cuda.device_count())]
        threads = max(1, torch.get_num_threads() // self._jobs)
        settings: tuple[Any, ...] = (self._context.Value("i", 0), gpus, threads)
        return ProcessPoolExecutor(self._jobs, self._context, initializer=_begin, initargs=settings)


def _begin(counter: Any, gpus: list[str], threads: int) -> None:
    """A process's beginning: its share of the cores, one of the GPUs in turn, and an end no later than its parent's."""
    torch.set_num_threads(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    with counter.get_lock():
        mine = counter.value
        counter.value += 1
    if gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus[mine % len(gpus)]
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # the checkpoint is whole at any time; nobody would gather the result

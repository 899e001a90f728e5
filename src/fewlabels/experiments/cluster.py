"""Runs on a Ray cluster: as many at once as it has room for, each with a share of a GPU or some cores.

The run folders must lie on storage that every node sees under the same path. A worker that is lost (a node went away, a
process was killed) is replaced by Ray, and its successor goes on from the checkpoint in the run's folder.
"""

from __future__ import annotations

import os
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any

from fewlabels.errors import InputError, RunError
from fewlabels.experiments.job import Job, work

RETRIES = 3  # how often Ray replaces a lost worker of one run


class Cluster:
    """A Ray cluster: the one at ``address`` or RAY_ADDRESS, else a new one on this machine."""

    def __init__(self, *, jobs: int | None, gpus: float | None, cpus: float, address: str | None = None) -> None:
        self._ray = _import()
        self._gpus, self._cpus, self._address = gpus, cpus, address
        self.slots = jobs  # None: Ray gets all at once, and queues what it has no room for

    def __enter__(self) -> Cluster:
        ray = self._ray
        self._mine = not ray.is_initialized()
        if self._mine:
            # Ray would warn of a change to come: a run without a GPU is to see none, whatever the version.
            os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
            ray.init(address=self._address, log_to_driver=False, logging_level="warning")
        there: dict[str, float] = ray.cluster_resources()
        gpus = (1.0 if there.get("GPU") else 0.0) if self._gpus is None else self._gpus
        _check_room(there, {"CPU": self._cpus, "GPU": gpus})
        self._remote = ray.remote(num_cpus=self._cpus, num_gpus=gpus, max_retries=RETRIES)(work_on_a_node)
        return self

    def submit(self, job: Job) -> Future[Path]:
        """Have a job done by whichever node has room."""
        found: Future[Path] = self._remote.remote(job).future()
        return found

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the cluster; its workers on our behalf end with us."""
        if self._mine:
            self._ray.shutdown()


def work_on_a_node(job: Job) -> Path:
    """Carry a job out, if this node sees where."""
    if not job.folder.parent.is_dir():
        raise RunError(f"this node sees no {job.folder.parent}: put --out on storage that all nodes share")
    return work(job)


def _check_room(there: dict[str, float], needed: dict[str, float]) -> None:
    """Refuse what would wait for ever."""
    for name, amount in needed.items():
        if amount > there.get(name, 0.0):
            raise InputError(
                f"a run needs {amount:g} {name} and the cluster has {there.get(name, 0.0):g}: add nodes, or ask "
                f"for less with --{name.lower()}s"
            )


def _import() -> Any:
    try:
        import ray
    except ImportError:
        raise InputError("--executor ray needs Ray: pip install 'fewlabels[ray]'") from None
    return ray

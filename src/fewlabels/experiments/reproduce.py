"""``reproduce``: a table or a figure of the paper, from whatever records there are to the files that show it."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fewlabels.errors import InputError, RunError
from fewlabels.experiments.absent import LeftOut, not_here, present
from fewlabels.experiments.catalogue import EXPERIMENTS
from fewlabels.experiments.cluster import Cluster
from fewlabels.experiments.cost import Estimate, estimate, images_of, steps_of
from fewlabels.experiments.experiment import Drawing, Experiment, cells, check_needs
from fewlabels.experiments.identity import run_name
from fewlabels.experiments.job import Job, Pool
from fewlabels.experiments.ledger import Ledger, open_ledger
from fewlabels.experiments.local import Local
from fewlabels.experiments.presets import Preset
from fewlabels.experiments.presets import preset as preset_of
from fewlabels.experiments.watch import Pace, Silent, State, Watch, ended
from fewlabels.train.config import pick

RESULTS = Path("results")  # records that need not be made again, if there are any
LOST = 2  # how often a run is gone on with after its process was killed
TICK = 1.0  # seconds between two looks at what is running


@dataclass(frozen=True)
class Outcome:
    """What a reproduction did."""

    estimate: Estimate
    finished: tuple[str, ...] = ()  # runs of this sitting
    failed: Mapping[str, str] = dataclasses.field(default_factory=dict)  # runs, and why they failed
    written: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()  # what was left out, and why


def reproduce(
    name: str,
    *,
    preset: str,
    seeds: Sequence[int] | None = None,
    methods: Sequence[str] | None = None,
    data: str | None = None,
    jobs: int | None = None,
    executor: Literal["local", "ray"] = "local",
    out: Path | None = None,
    results: Path | None = RESULTS,
    device: str = "auto",
    data_dir: str | None = None,
    gpus: float | None = None,
    cpus: float = 1.0,
    address: str | None = None,
    images_per_second: float | None = None,
    dry_run: bool = False,
    watch: Watch | None = None,
) -> Outcome:
    """Run what no record holds yet, gather all of it in ``out/records.jsonl``, and draw from the records alone.

    ``seeds``, ``methods`` and ``data`` narrow what is run; what is drawn is everything that has been run. The options
    are those of ``fewlabels reproduce``. A run that fails does not stop the others, and is told in the outcome.

    >>> reproduce("table2", preset="smoke", methods=["rot"], seeds=[0], results=None, dry_run=True).estimate.runs
    2
    """
    experiment: Experiment = pick(EXPERIMENTS, name, "table or figure")
    chosen = preset_of(preset)
    watch = Silent() if watch is None else watch
    out = (out or Path("reproduced") / chosen.name).absolute()
    _check(out, results, jobs, seeds, methods, images_per_second)
    asked = cells(experiment, chosen, seeds=seeds, methods=methods, data=data)
    asked = tuple(dataclasses.replace(config, device=device, data_dir=data_dir) for config in asked)
    ledger = open_ledger(out, results)
    missing = [config for config in asked if ledger.record(config) is None]
    missing, notes = present(missing, data_dir)
    absent = not_here(missing, data_dir)
    if absent and not dry_run:
        raise InputError(absent[0])
    todo = [Job(config, out / "runs" / run_name(config)) for config in missing]
    expected = estimate(
        missing,
        tuple(ledger.known.values()),
        held=len(asked) - len(todo) - sum(note.runs for note in notes),
        done=[job.steps_done if job.cut_off else 0 for job in todo],
        device=device,
        images_per_second=images_per_second,
    )
    told = (*map(str, notes), *absent)
    for line in (str(expected), *told):
        watch.say(line)
    if dry_run:
        return Outcome(expected, notes=told)
    (out / "runs").mkdir(parents=True, exist_ok=True)
    check_needs(experiment)
    ledger.gather()
    pool = _pool(executor, jobs, gpus, cpus, address)
    finished, failed = _run(todo, pool, ledger, watch) if todo else ((), {})
    return Outcome(expected, finished, failed, _draw(experiment, chosen, ledger, out, notes), told)


def _check(
    out: Path,
    results: Path | None,
    jobs: int | None,
    seeds: Sequence[int] | None,
    methods: Sequence[str] | None,
    images_per_second: float | None,
) -> None:
    """Refuse what would fail, or be left out in silence, hours from here."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: give a folder, new or of an earlier reproduction")
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs must be above zero, got {jobs}")
    if results is not None and results != RESULTS and not results.exists():
        raise InputError(f"--results {results} does not exist: give a folder of records, or leave it out")
    for name, values in (("seeds", seeds), ("methods", methods)):
        if values is not None and not values:
            raise InputError(f"--{name} is empty: name at least one, or leave it out for all")
    if images_per_second is not None and not 0 < images_per_second < math.inf:
        raise InputError(f"--images-per-second must be above zero, got {images_per_second}")


def _pool(executor: str, jobs: int | None, gpus: float | None, cpus: float, address: str | None) -> Pool:
    return Cluster(jobs=jobs, gpus=gpus, cpus=cpus, address=address) if executor == "ray" else Local(jobs or 1)


def _run(todo: Sequence[Job], pool: Pool, ledger: Ledger, watch: Watch) -> tuple[tuple[str, ...], dict[str, str]]:
    """Keep the pool's slots filled until nothing is left; what ended well, and what failed and why."""
    waiting, running, lost = deque(todo), dict[Future[Path], Job](), Counter[str]()
    finished: list[str] = []
    failed: dict[str, str] = {}
    progress = _Progress(todo)
    with pool:
        while waiting or running:
            while waiting and (pool.slots is None or len(running) < pool.slots):
                job = waiting.popleft()
                running[pool.submit(job)] = job
            watch.show(progress.state(running.values(), finished, failed))
            for future in wait(running, timeout=TICK, return_when=FIRST_COMPLETED).done:
                job = running.pop(future)
                name, error = job.folder.name, future.exception()
                if error is None:
                    watch.say(ended(name, ledger.add(future.result())))
                    finished.append(name)
                elif isinstance(error, BrokenProcessPool) and lost[name] < LOST:
                    lost[name] += 1
                    waiting.appendleft(job)
                else:
                    failed[name] = _message(error)
                    watch.say(f"{name} failed: {failed[name]}")
    return tuple(finished), failed


def _message(error: BaseException) -> str:
    """A sentence. Ray wraps what a run raised; a process that was killed says nothing."""
    error = getattr(error, "cause", None) or error
    if isinstance(error, BrokenProcessPool):
        return f"its process was killed {LOST + 1} times (is there memory enough for as many --jobs?)"
    return str(error) if isinstance(error, InputError | RunError) else f"{type(error).__name__}: {error}"


class _Progress:
    """How much of the work is done, counted in images."""

    def __init__(self, todo: Sequence[Job]) -> None:
        self.images = {job.folder.name: images_of(job.config) for job in todo}
        self.steps = {job.folder.name: steps_of(job.config) for job in todo}
        self.parts = {job.folder.name: job.steps_done / self.steps[job.folder.name] for job in todo}
        self.pace = Pace()

    def state(self, running: Iterable[Job], finished: Sequence[str], failed: Mapping[str, str]) -> State:
        """Where things stand; a failed run has nothing left to do."""
        begun = [job for job in running if job.folder.exists()]
        self.parts |= {job.folder.name: job.steps_done / self.steps[job.folder.name] for job in begun}
        self.parts |= dict.fromkeys((*finished, *failed), 1.0)
        total = sum(self.images.values())
        done = sum(part * self.images[name] for name, part in self.parts.items())
        ended = len(finished) + len(failed)
        parts = {job.folder.name: self.parts[job.folder.name] for job in begun}
        return State(len(self.images), ended, parts, done / total, self.pace.left(done, total))


def _draw(
    experiment: Experiment, preset: Preset, ledger: Ledger, out: Path, left_out: tuple[LeftOut, ...]
) -> tuple[Path, ...]:
    """Every seed of every cell that has been run."""
    drawn = cells(experiment, preset, seeds=preset.seeds[:1])
    records = ledger.of_cells(drawn, preset.name)
    if not records:
        return ()
    return experiment.draw(Drawing(experiment.name, experiment.title, records, drawn, preset, out, left_out))

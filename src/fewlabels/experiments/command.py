"""``fewlabels reproduce``, as the command line calls it: options in, lines out, and an error if a run failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from fewlabels.errors import RunError

SEVERAL = Parameter(consume_multiple=True, negative=())  # --seeds 0 1


def command(
    name: str,
    *,
    preset: str = "smoke",
    seeds: Annotated[Sequence[int] | None, SEVERAL] = None,
    methods: Annotated[Sequence[str] | None, SEVERAL] = None,
    dataset: Literal["cifar10", "svhn"] | None = None,
    jobs: int | None = None,
    executor: Literal["local", "ray"] = "local",
    out: Path | None = None,
    results: Path | None = None,
    device: str = "auto",
    data_dir: str | None = None,
    gpus: float | None = None,
    cpus: float = 1.0,
    address: str | None = None,
    images_per_second: float | None = None,
    dry_run: bool = False,
) -> None:
    """Make a table or a figure of the paper: run what is not in the records yet, then draw it from the records.

    Run the same again after an interruption: finished runs are skipped, cut-off ones go on from their last epoch.

    Parameters
    ----------
    name
        table1, table2, methods, ablation, full, figure1, figure2, figure3 or figure4.
    preset
        smoke (a minute on digits, checks the path), desk (real data for two CPU cores) or paper (for GPUs).
    seeds
        Which splits to run; the preset's own if left out.
    methods
        Only these methods of a table.
    dataset
        Only this data set.
    jobs
        Runs at once: 1 if left out, or with Ray as many as there is room for.
    executor
        local: processes on this machine. ray: a Ray cluster.
    out
        Where run folders, records.jsonl, tables and figures go; reproduced/PRESET if left out.
    results
        A folder of records that need not be made again; results/ if left out and there is one.
    device
        auto is CUDA where there is one, else the CPU.
    data_dir
        Where data sets live; else FEWLABELS_DATA, else the user's cache folder.
    gpus
        With Ray: GPUs a run takes, such as 0.25; 1 if left out and the cluster has any.
    cpus
        With Ray: CPU cores a run takes.
    address
        With Ray: a cluster's address, such as auto or ray://host:10001; a new one on this machine if left out.
    images_per_second
        Say the speed for the estimate instead of having it measured.
    dry_run
        Only say what would be run and how long it would take.
    """
    from fewlabels.experiments.reproduce import RESULTS, reproduce  # torch, which --help does without
    from fewlabels.experiments.watch import pick

    watch = pick()
    try:
        outcome = reproduce(
            name,
            preset=preset,
            seeds=seeds,
            methods=methods,
            data=dataset,
            jobs=jobs,
            executor=executor,
            out=out,
            results=RESULTS if results is None else results,
            device=device,
            data_dir=data_dir,
            gpus=gpus,
            cpus=cpus,
            address=address,
            images_per_second=images_per_second,
            dry_run=dry_run,
            watch=watch,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command goes on from the last epochs") from None
    finally:
        watch.close()
    for path in outcome.written:
        print(path)
    if outcome.failed:
        raise RunError(failures(outcome.failed))


def failures(failed: Mapping[str, str]) -> str:
    """Which runs failed and why; a reason that many share is told once.

    >>> print(failures({"a": "no data", "b": "no data"}))
    2 runs failed; the same command tries them again:
      a, b: no data
    """
    by_reason: dict[str, list[str]] = {}
    for name, reason in failed.items():
        by_reason.setdefault(reason, []).append(name)
    runs = "1 run" if len(failed) == 1 else f"{len(failed)} runs"
    lines = [f"  {', '.join(names)}: {reason}" for reason, names in by_reason.items()]
    return "\n".join([f"{runs} failed; the same command tries them again:", *lines])

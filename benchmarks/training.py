"""Our loop against a bare one, importing, asking for help, and the memory of a CIFAR-10 run: ratios within one run.

    python benchmarks/training.py [--blocks 7] [--steps 6]

The bare loop trains the same network on tensors that lie ready in memory: no views, no normalisation, no bookkeeping.
Blocks of steps alternate between the two, and medians are compared, so that what else the machine does hits both.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from records import append

from fewlabels.data.images import Images, Source
from fewlabels.data.normalize import fit
from fewlabels.models import WideResNet
from fewlabels.train.config import Config, plan_of
from fewlabels.train.device import make_fabric, pick_precision
from fewlabels.train.loop import begin, train_epoch
from fewlabels.train.problem import pose
from fewlabels.train.schedule import Budget, Clock


def source() -> Source:
    """Random bytes of CIFAR-10's shape: speed does not depend on what the images show."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (12_000, 3, 32, 32), dtype=torch.uint8, generator=generator)
    images = Images(pixels, torch.arange(12_000) % 10)
    return Source("random", tuple("0123456789"), images, validation_size=1_000, normalize="gcn", noise=0.15)


def ours(recipe: str, steps: int) -> tuple[Callable[[], float], int]:
    """Seconds of an epoch of ``steps`` of supervised training through the loop; images a step."""
    config = Config("random", method="supervised", recipe=recipe, labels=4_000, overrides={"epoch_steps": steps})
    plan, images = plan_of(config), source()
    fabric = make_fabric(device="cpu", precision=pick_precision("auto", "cpu"), devices=1, nodes=1)
    problem = pose(images, fit("gcn", images.train.pixels), config, plan, fabric.device)
    network = WideResNet().to(memory_format=torch.channels_last)
    t = begin(problem, plan, network, Clock(Budget(steps=10**9)), fabric, seed=0)
    batch = plan.recipe.supervised_batch or plan.recipe.labeled_batch

    def block() -> float:
        began = time.perf_counter()
        train_epoch(t)
        return time.perf_counter() - began

    return block, batch


def bare(recipe: str, steps: int, batch: int, *, fast: bool = True) -> Callable[[], float]:
    """Seconds of ``steps`` of forward, backward and update, in bf16 and channels-last or in float32 without."""
    network = WideResNet()
    images, labels = torch.randn(batch, 3, 32, 32), torch.arange(batch) % 10
    if fast:
        network = network.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    if recipe == "strong":
        optimizer: torch.optim.Optimizer = torch.optim.SGD(network.parameters(), 1e-3, 0.9, nesterov=True)
    else:
        optimizer = torch.optim.Adam(network.parameters(), 1e-3)

    def block() -> float:
        began = time.perf_counter()
        for _ in range(steps):
            with torch.autocast("cpu", torch.bfloat16, enabled=fast):
                loss = torch.nn.functional.cross_entropy(network(images).float(), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        return time.perf_counter() - began

    return block


def compare(recipe: str, blocks: int, steps: int) -> None:
    """Print and store images per second of both loops and their ratio."""
    mine, batch = ours(recipe, steps)
    runs = {"ours": mine, "bare": bare(recipe, steps, batch), "bare float32": bare(recipe, steps, batch, fast=False)}
    for block in runs.values():
        block()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(blocks):
        for name, block in runs.items():
            seconds[name].append(block())
    rate = {name: steps * batch / statistics.median(values) for name, values in seconds.items()}
    share = statistics.median(b / o for o, b in zip(seconds["ours"], seconds["bare"], strict=True))
    print(
        f"{recipe:8} {', '.join(f'{name} {value:.0f}' for name, value in rate.items())} images/s; {share:.1%} of bare"
    )
    append(
        "training",
        {
            "name": "supervised training against a bare loop",
            "recipe": recipe,
            "model": "wrn-28-2",
            "batch": batch,
            "images_per_second": rate,
            "share_of_bare": share,
            "over_float32": rate["ours"] / rate["bare float32"],
            "blocks": blocks,
            "steps": steps,
        },
    )


def timed(code: str) -> float:
    """Seconds of a fresh interpreter that runs some code."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def start_up(repeats: int) -> None:
    """What importing the package adds to importing torch, and how soon help is there."""
    everything = "import torch, fewlabels; from fewlabels import fit, ot; fewlabels.ot.sinkhorn"
    codes = {
        "import torch": "import torch",
        "import fewlabels": "import fewlabels",
        "import torch, fewlabels": "import torch, fewlabels",
        "import all": everything,
        "help": "from fewlabels.cli import call; call(['--help'])",
    }
    seconds: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(repeats):
        for name, code in codes.items():
            seconds[name].append(timed(code))
    median = {name: statistics.median(values) for name, values in seconds.items()}
    beyond = median["import torch, fewlabels"] - median["import torch"]
    print(f"importing fewlabels: {beyond:+.2f} s beyond torch; --help in {median['help']:.2f} s; {median}")
    append("training", {"name": "start-up", "seconds": median, "beyond_torch": beyond, "repeats": repeats})


MEMORY = """
import resource, sys, torch
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
from pathlib import Path
from fewlabels.train.config import Config
from fewlabels.train.run import start
start(Config("cifar10", method="rot", steps=80, overrides={"warmup": 0.1}), Path(sys.argv[1]))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 2**20)
"""


def memory(folder: Path) -> None:
    """GB that a CIFAR-10 run takes at its peak, beyond importing torch; ROT with its pool of 8,192."""
    done = subprocess.run([sys.executable, "-c", MEMORY, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"no CIFAR-10, no memory: {done.stderr.strip().splitlines()[-1]}")
        return
    peak = float(done.stdout.split()[-1])
    print(f"a CIFAR-10 run takes {peak:.2f} GB beyond torch at its peak")
    append("training", {"name": "peak memory of a CIFAR-10 run beyond torch", "gb": peak, "method": "rot"})


if __name__ == "__main__":
    import tempfile

    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--steps", type=int, default=6)
    arguments = parser.parse_args()
    for name in ("strong", "paper"):
        compare(name, arguments.blocks, arguments.steps)
    start_up(arguments.blocks)
    with tempfile.TemporaryDirectory() as place:
        memory(Path(place) / "run")
    print(f"peak of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")

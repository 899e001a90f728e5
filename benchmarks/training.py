"""Our training loop against a bare one: ratios within one run.

    python benchmarks/training.py [--device cpu] [--blocks 5] [--steps 64]

The bare loop trains the same network with the same optimizer on one batch that lies ready where the network is: no
views, no normalisation, no bookkeeping. Blocks of steps alternate between the two, and medians are compared, so that
what else the machine does hits both. A block is as long as an epoch of the recipes, so that what is done once an epoch
counts for what it is.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from records import append

from fewlabels.data.images import Images, Source
from fewlabels.data.normalize import fit
from fewlabels.methods.method import Recipe
from fewlabels.models import WideResNet
from fewlabels.train.config import Config, plan_of
from fewlabels.train.device import PRECISIONS, make_fabric, pick_precision
from fewlabels.train.loop import begin, train_epoch
from fewlabels.train.optimizer import make_optimizer
from fewlabels.train.problem import pose
from fewlabels.train.schedule import Budget, Clock

Block = Callable[[], object]


def source() -> Source:
    """Random bytes of CIFAR-10's shape: speed does not depend on what the images show."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (12_000, 3, 32, 32), dtype=torch.uint8, generator=generator)
    images = Images(pixels, torch.arange(12_000) % 10)
    return Source("random", tuple("0123456789"), images, validation_size=1_000, normalize="gcn", noise=0.15)


def ours(name: str, steps: int, device: str, precision: str, *, compiled: bool) -> tuple[Block, Recipe]:
    """An epoch of ``steps`` of supervised training through the loop, and its recipe."""
    config = Config("random", method="supervised", recipe=name, labels=4_000, overrides={"epoch_steps": steps})
    plan, images = plan_of(config), source()
    fabric = make_fabric(device=device, precision=precision, devices=1, nodes=1)
    problem = pose(images, fit("gcn", images.train.pixels), config, plan, fabric.device)
    network = WideResNet().to(fabric.device, memory_format=torch.channels_last)
    t = begin(problem, plan, network, Clock(Budget(steps=10**9)), fabric, seed=0, compiled=compiled)
    return lambda: train_epoch(t), plan.recipe


def bare(recipe: Recipe, batch: int, steps: int, device: str, precision: str, *, compiled: bool) -> Block:
    """``steps`` of forward, backward and update, channels last unless in float32."""
    network = WideResNet().to(device)
    images, labels = torch.randn(batch, 3, 32, 32, device=device), torch.arange(batch, device=device) % 10
    low = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}.get(PRECISIONS[precision])
    if low is not None:
        network = network.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    optimizer = make_optimizer(network, recipe)
    model = torch.compile(network) if compiled else network

    def block() -> None:
        for _ in range(steps):
            with torch.autocast(device, low or torch.bfloat16, enabled=low is not None):
                logits = model(images).float()
            loss = torch.nn.functional.cross_entropy(logits, labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        loss.item()

    return block


def seconds(block: Block) -> float:
    began = time.perf_counter()
    block()
    return time.perf_counter() - began


def compare(name: str, blocks: int, steps: int, device: str, *, compiled: bool) -> None:
    """Print and store images per second of both loops and their ratio."""
    precision = pick_precision("auto", device)
    mine, recipe = ours(name, steps, device, precision, compiled=compiled)
    batch = recipe.supervised_batch or recipe.labeled_batch
    runs = {"ours": mine, "bare": bare(recipe, batch, steps, device, precision, compiled=compiled)}
    if precision != "float32":
        runs["bare float32"] = bare(recipe, batch, steps, device, "float32", compiled=compiled)
    for block in runs.values():
        block()
    spent: dict[str, list[float]] = {key: [] for key in runs}
    for _ in range(blocks):
        for key, block in runs.items():
            spent[key].append(seconds(block))
    rate = {key: steps * batch / statistics.median(values) for key, values in spent.items()}
    share = statistics.median(b / o for o, b in zip(spent["ours"], spent["bare"], strict=True))
    rates = ", ".join(f"{key} {value:,.0f}" for key, value in rate.items())
    print(f"{device}, {precision}{', compiled' * compiled}, {name}: {rates} images/s; {share:.1%} of bare")
    fields = {
        "recipe": name,
        "model": "wrn-28-2",
        "precision": precision,
        "compiled": compiled,
        "batch": batch,
        "images_per_second": rate,
        "share_of_bare": share,
        "blocks": blocks,
        "steps": steps,
    }
    append("training.jsonl", "supervised training against a bare loop", fields, device)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--steps", type=int, default=64)
    asked = parser.parse_args()
    for recipe_name in ("strong", "paper"):
        compare(recipe_name, asked.blocks, asked.steps, asked.device, compiled=asked.compile)

"""Each method through our loop against the bare passes its definition needs; our FixMatch beside ModSSC's.

    python benchmarks/methods.py [--only METHOD|modssc] [--blocks 7] [--steps 6] [--compile] [--smoke]

Bare passes run the same network over batches that lie ready: no views, no normalisation, no average of the weights. A
labeler's bare epoch looks once at the pool and at the labelled images too, both cut to the share that these few steps
are of an epoch (what the match itself takes of a whole one is for ``epoch.py``). Blocks of steps alternate between the
two, and medians are compared.

``--only modssc`` needs the environment that ``make bench-methods`` makes for it. ModSSC's ``fit`` gets views that were
computed beforehand and keeps no average of the weights; ours draws fresh views and keeps one. ModSSC trains in float32
unless its user does more: beside what each does by itself stand ours in float32, and theirs within autocast with
channels last, so that what the precision gives and what the loop gives can be told apart.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any

import torch
from rounds import record, times, turns
from torch import Tensor, nn
from torch.nn import functional as F

from fewlabels.data.images import Images, Source
from fewlabels.data.normalize import fit
from fewlabels.methods import METHODS, VAT, EntMin, PseudoLabel, Recipe
from fewlabels.models import WideResNet
from fewlabels.train.config import Config, plan_of
from fewlabels.train.device import make_fabric, pick_precision
from fewlabels.train.evaluate import laid_out
from fewlabels.train.loop import Training, begin, train_epoch
from fewlabels.train.optimizer import make_optimizer
from fewlabels.train.problem import pose
from fewlabels.train.schedule import Budget, Clock

Block = Callable[[], object]
BUDGET = 1_000_000  # steps; timing begins in the middle, where every ramp is up
PEER = "modssc"


@dataclass(frozen=True)
class Sizes:
    """What is measured. 64 steps have 4,000 labelled images and a pool of 8,192; ``steps`` have their share."""

    depth: int = 28
    images: int = 50_000
    steps: int = 6
    blocks: int = 7
    compiled: bool = False
    smoke: bool = False

    @property
    def labels(self) -> int:
        return max(10, 4_000 * self.steps // 64 // 10 * 10)

    def network(self) -> nn.Module:
        return WideResNet(depth=self.depth)


def source(sizes: Sizes) -> Source:
    """Random bytes of CIFAR-10's shape: speed does not depend on what the images show."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (sizes.images, 3, 32, 32), dtype=torch.uint8, generator=generator)
    images = Images(pixels, torch.arange(sizes.images) % 10)
    return Source("random", tuple("0123456789"), images, validation_size=sizes.images // 10, normalize="gcn")


def ours(name: str, sizes: Sizes, images: Source, precision: str = "auto") -> Training:
    """A run of the strong recipe in the middle of its budget."""
    overrides = {"epoch_steps": sizes.steps, "warmup": 0.0, "pool": 8_192 * sizes.steps // 64}
    config = Config("random", method=name, recipe="strong", labels=sizes.labels, overrides=overrides)
    plan = plan_of(config)
    fabric = make_fabric(device="cpu", precision=pick_precision(precision, "cpu"), devices=1, nodes=1)
    problem = pose(images, fit("gcn", images.train.pixels), config, plan, fabric.device)
    network = sizes.network().to(memory_format=torch.channels_last)
    clock = Clock(Budget(steps=BUDGET), step=BUDGET // 2)
    return begin(problem, plan, network, clock, fabric, seed=0, compiled=sizes.compiled)


def bare(t: Training, sizes: Sizes) -> Block:
    """The passes of ``t``'s method over batches that lie ready, as often as an epoch of it makes them."""
    method, recipe = t.method, t.method.recipe
    network = sizes.network().to(memory_format=torch.channels_last)
    optimizer = make_optimizer(network, recipe)
    model = torch.compile(network) if sizes.compiled else network
    low = pick_precision("auto", "cpu") == "bf16"
    known = ready(recipe.labeled_batch)
    unknown = ready(recipe.unlabeled_batch if method.uses_unlabeled else 0)
    labels = torch.arange(len(known) + len(unknown)) % 10
    looks = [partial(PASSES[type(term)], images=unknown) for _, term in method.terms if type(term) in PASSES]
    if not looks and method.terms and not all(isinstance(term, EntMin | PseudoLabel) for _, term in method.terms):
        looks = [partial(look_once, images=unknown)]
    pool = recipe.pool if method.labeler is not None and isinstance(recipe.pool, int) else 0
    looked_at = ready(sizes.labels + pool).split(128) if pool else ()  # as many at once as ours

    def logits(images: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=low):
            return model(images).float()

    def block() -> None:
        network.eval()
        with torch.no_grad():
            for part in looked_at:
                logits(part)
        network.train()
        for _ in range(sizes.steps):
            loss = F.cross_entropy(logits(torch.cat([known, unknown])), labels)
            for look in looks:
                loss = loss + look(logits)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        assert torch.isfinite(loss), "passes over numbers that are none take another time"

    return block


def ready(count: int) -> Tensor:
    """Images where and as the network wants them; of zeros, normalisation would make infinities."""
    return laid_out(torch.randn(count, 3, 32, 32, generator=torch.Generator().manual_seed(count)))


def look_once(logits: Callable[[Tensor], Tensor], images: Tensor) -> float:
    """A second view or a teacher: forward only."""
    with torch.no_grad():
        return float(logits(images).sum()) * 0.0


def look_where_it_hurts(logits: Callable[[Tensor], Tensor], images: Tensor) -> Tensor:
    """VAT: a gradient in the images, then a pass with gradients in the weights."""
    changed = images.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(logits(changed).logsumexp(1).sum(), changed)
    return logits(images + gradient).logsumexp(1).mean()


PASSES: dict[type, Callable[..., Tensor | float]] = {VAT: look_where_it_hurts}  # all other terms look once, or not


def compare(name: str, sizes: Sizes, images: Source) -> None:
    """Print and store images per second of both and their ratio."""
    t = ours(name, sizes, images)
    recipe = t.method.recipe
    batch = recipe.labeled_batch + (recipe.unlabeled_batch if t.method.uses_unlabeled else 0)
    works: dict[str, Block] = {"ours": lambda: train_epoch(t), "bare": bare(t, sizes)}
    spent = interleaved(works, sizes)
    share = times(spent["bare"], spent["ours"])
    report("each method against its bare passes", sizes, recipe, spent, batch, {"method": name, "share_of_bare": share})
    print(f"{name:14} {rates(spent, sizes, batch)}; {share:.1%} of bare", flush=True)


def modssc(sizes: Sizes, images: Source) -> None:
    """Our FixMatch and ModSSC's: 64 labelled and 128 unlabelled images a step, the same network and optimizer."""
    t = ours("fixmatch", replace(sizes, compiled=False), images)
    recipe = t.method.recipe
    batch = recipe.labeled_batch + recipe.unlabeled_batch
    plain = ours("fixmatch", replace(sizes, compiled=False), images, "float32")
    works: dict[str, Block] = {
        "ours, bf16": lambda: train_epoch(t),
        "modssc, float32": theirs(recipe, sizes),
        "ours, float32": lambda: train_epoch(plain),
        "modssc, bf16": theirs(recipe, sizes, low=True),
    }
    if sizes.compiled:
        compiled = ours("fixmatch", sizes, images)
        works["ours, bf16, compiled"] = lambda: train_epoch(compiled)
    spent = interleaved(works, sizes)
    pairs = [(name, "modssc, float32") for name in works if name != "modssc, float32"]
    pairs.append(("ours, bf16", "modssc, bf16"))
    ratios = {f"{one} / {other}": times(spent[other], spent[one]) for one, other in pairs}
    report("our FixMatch beside ModSSC's", sizes, recipe, spent, batch, {"times": ratios, "modssc": version(PEER)})
    print(f"fixmatch       {rates(spent, sizes, batch)}")
    print(*(f"{name:44} {ratio:.2f} x" for name, ratio in ratios.items()), sep="\n", flush=True)


def theirs(recipe: Recipe, sizes: Sizes, *, low: bool = False) -> Block:
    """An epoch of ModSSC's own ``fit`` on as many images as ``steps`` steps take; ``low`` is bf16 and channels last."""
    from modssc.inductive.deep import TorchModelBundle
    from modssc.inductive.methods.fixmatch import FixMatchMethod, FixMatchSpec
    from modssc.inductive.types import DeviceSpec, InductiveDataset

    layout = torch.channels_last if low else torch.contiguous_format
    network = sizes.network().to(memory_format=layout)
    bundle = TorchModelBundle(model=network, optimizer=make_optimizer(network, recipe))
    mu = recipe.unlabeled_batch // recipe.labeled_batch
    method = FixMatchMethod(FixMatchSpec(model_bundle=bundle, mu=mu, batch_size=recipe.labeled_batch))
    generator = torch.Generator().manual_seed(0)
    known, weak, strong = (
        torch.randn(count * sizes.steps, 3, 32, 32, generator=generator).contiguous(memory_format=layout)
        for count in (recipe.labeled_batch, recipe.unlabeled_batch, recipe.unlabeled_batch)
    )
    data = InductiveDataset(X_l=known, y_l=torch.arange(len(known)) % 10, X_u_w=weak, X_u_s=strong)

    def block() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=low):
            method.fit(data, device=DeviceSpec(device="cpu"), seed=0)

    return block


def interleaved(works: dict[str, Block], sizes: Sizes) -> dict[str, list[float]]:
    """Seconds of each block, after one that is not counted."""
    for work in works.values():
        work()
    return turns(works, dict.fromkeys(works, sizes.blocks))


def rates(spent: dict[str, list[float]], sizes: Sizes, batch: int) -> str:
    found = {name: sizes.steps * batch / statistics.median(values) for name, values in spent.items()}
    return ", ".join(f"{name} {value:,.0f}" for name, value in found.items()) + " images/s"


def report(
    bench: str, sizes: Sizes, recipe: Recipe, spent: dict[str, list[float]], batch: int, found: dict[str, Any]
) -> None:
    """One line of results/bench/methods.jsonl, unless the sizes measure nothing."""
    rate = {name: sizes.steps * batch / statistics.median(values) for name, values in spent.items()}
    fields = {
        **found,
        "model": "wrn-28-2",
        "precision": pick_precision("auto", "cpu"),
        "compiled": sizes.compiled,
        "labeled_batch": recipe.labeled_batch,
        "unlabeled_batch": batch - recipe.labeled_batch,
        "images_per_second": rate,
        "blocks": sizes.blocks,
        "steps": sizes.steps,
    }
    record("methods.jsonl", bench, fields, smoke=sizes.smoke)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=(*METHODS, PEER))
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes; nothing is recorded")
    asked = parser.parse_args()
    measured = Sizes(steps=asked.steps, blocks=asked.blocks, compiled=asked.compile)
    if asked.smoke:
        measured = replace(measured, depth=10, images=600, steps=2, blocks=1, smoke=True)
    drawn = source(measured)
    if asked.only == PEER:
        modssc(measured, drawn)
    else:
        for method_name in METHODS if asked.only is None else (asked.only,):
            compare(method_name, measured, drawn)

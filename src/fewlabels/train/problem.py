"""What a run works on: a split of some samples, and the functions that turn them into batches."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor, nn

from fewlabels.data.augment import View, make_view
from fewlabels.data.images import Images, Sealed, Source, seal
from fewlabels.data.normalize import Normalizer
from fewlabels.data.splits import Split, draw_split
from fewlabels.errors import InputError
from fewlabels.methods.method import Method
from fewlabels.train.config import Config
from fewlabels.train.evaluate import Clean, Store


@dataclass(frozen=True)
class Part:
    """Labelled samples that judge: a validation or a test part."""

    store: Store
    indices: Int[Tensor, " n"]
    labels: Int[Tensor, " n"]


@dataclass(frozen=True)
class Problem:
    """Everything about the data that the loop asks for. Labels of unlabelled samples are sealed."""

    classes: int
    split: Split
    labels: Int[Tensor, " n"]  # of the training samples, UNKNOWN where training may not look
    truth: Sealed
    store: Store
    clean: Clean
    view: Callable[[str], View]
    validation: Part | None
    test: Part | None
    device: torch.device

    @property
    def class_counts(self) -> Int[Tensor, " c"]:
        """Labelled samples of each class."""
        return torch.bincount(self.labels[self.split.labeled], minlength=self.classes)

    @cached_property
    def fingerprint(self) -> int:
        """A checksum of the split and of the labelled samples: other data, or another split, has another."""
        split = self.split
        parts = (split.labeled, split.unlabeled, split.validation, self.labels, self.store.take(split.labeled).cpu())
        checksum = 0
        for part in parts:
            checksum = zlib.crc32(part.contiguous().numpy().data, checksum)
        return checksum


def pose(source: Source, normalizer: Normalizer, config: Config, method: Method, device: torch.device) -> Problem:
    """Draw the split and seal the labels of a source of images."""
    labels = source.train.labels
    own = source.validation is not None
    if own and config.validation is not None:
        raise InputError(f"{source.name} brings its own validation part: leave --validation out")
    split = draw_split(
        labels,
        classes=len(source.classes),
        count=config.labels if config.labels is not None else source.default_labels,
        per=config.stratify,  # type: ignore[arg-type]
        validation=None if own else _validation_size(source, config),
        unlabeled=config.unlabeled,
        seed=config.seed,
    )
    if method.uses_unlabeled and not len(split.unlabeled):
        asked = config.unlabeled == 0
        raise InputError(
            f"method {config.method!r} learns from unlabelled images and "
            + (
                "--unlabeled is 0: leave it out"
                if asked
                else f"{source.name} has none: add some, ask for fewer --labels"
            )
            + ", or use --method supervised"
        )
    shown, truth = seal(labels, torch.cat([split.labeled, split.validation]))
    store = Store.place(source.train.pixels, device)
    validation = _part(source.validation, device)
    if not own and len(split.validation):
        validation = Part(store, split.validation, labels[split.validation])
    clean = normalizer.to(device)
    return Problem(
        classes=len(source.classes),
        split=split,
        labels=shown,
        truth=truth,
        store=store,
        clean=clean,
        view=partial(make_view, normalizer=clean, flip=source.flip, noise=source.noise),
        validation=validation,
        test=_part(source.test, device),
        device=device,
    )


@torch.no_grad()
def check_network(network: nn.Module, problem: Problem) -> None:
    """Refuse a network that does not give one logit a class for these samples."""
    was_training = network.training
    sample = problem.clean(problem.store.take(torch.arange(1)))
    try:
        out = network.eval()(sample)
    except RuntimeError as error:
        raise InputError(
            f"the network cannot take samples of shape {tuple(sample.shape[1:])}: {str(error).splitlines()[0]}. "
            "Choose another model or another size"
        ) from error
    network.train(was_training)
    got = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
    if got != (1, problem.classes):
        raise InputError(
            f"the network gives {got} for one sample, and {problem.classes} logits are needed: change its last layer"
        )


def _validation_size(source: Source, config: Config) -> int | Literal["tenth"]:
    if config.validation is not None:
        return config.validation
    return "tenth" if source.validation_size is None else source.validation_size


def _part(images: Images | None, device: torch.device) -> Part | None:
    if images is None or not len(images):
        return None
    return Part(Store.place(images.pixels, device), torch.arange(len(images)), images.labels)

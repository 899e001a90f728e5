"""What a run works on: a source, its split, and the functions that turn its bytes into batches."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from fewlabels.data.augment import View, make_view
from fewlabels.data.images import Images, Sealed, Source, seal
from fewlabels.data.normalize import Normalizer, fit
from fewlabels.data.splits import Split, draw_split
from fewlabels.errors import InputError
from fewlabels.methods.method import Method
from fewlabels.train.config import Config
from fewlabels.train.evaluate import Store


@dataclass(frozen=True)
class Part:
    """Labelled images that judge: a validation or a test part."""

    store: Store
    indices: Int[Tensor, " n"]
    labels: Int[Tensor, " n"]


@dataclass(frozen=True)
class Problem:
    """Everything about the data that the loop asks for. Labels of unlabelled images are sealed."""

    source: Source
    split: Split
    labels: Int[Tensor, " n"]  # of the training images, UNKNOWN where training may not look
    truth: Sealed
    normalizer: Normalizer
    store: Store
    clean: Normalizer  # the same, where the network is
    validation: Part | None
    test: Part | None
    device: torch.device

    @property
    def classes(self) -> int:
        """How many there are."""
        return len(self.source.classes)

    @property
    def class_counts(self) -> Int[Tensor, " c"]:
        """Labelled images of each class."""
        return torch.bincount(self.labels[self.split.labeled], minlength=self.classes)

    def view(self, name: str) -> View:
        """A view of this source's images."""
        return make_view(name, self.clean, flip=self.source.flip, noise=self.source.noise)


def pose(source: Source, config: Config, method: Method, device: torch.device) -> Problem:
    """Draw the split, seal the labels, fit the normalisation."""
    labels = source.train.labels
    count = config.labels if config.labels is not None else source.default_labels
    own = source.validation is not None
    split = draw_split(
        labels,
        classes=len(source.classes),
        count=count,
        per=config.stratify,  # type: ignore[arg-type]
        validation=None if own else config.validation or source.validation_size or "tenth",
        unlabeled=config.unlabeled,
        seed=config.seed,
    )
    if method.uses_unlabeled and not len(split.unlabeled):
        raise InputError(
            f"method {config.method!r} learns from unlabelled images and {source.name} has none: "
            "add some, ask for fewer --labels, or use --method supervised"
        )
    shown, truth = seal(labels, torch.cat([split.labeled, split.validation]))
    store = Store.place(source.train.pixels, device)
    validation = _part(source.validation, device)
    if not own and len(split.validation):
        validation = Part(store, split.validation, labels[split.validation])
    normalizer = fit(config.normalize or source.normalize, source.train.pixels)
    return Problem(
        source=source,
        split=split,
        labels=shown,
        truth=truth,
        normalizer=normalizer,
        clean=normalizer.to(device),
        store=store,
        validation=validation,
        test=_part(source.test, device),
        device=device,
    )


def _part(images: Images | None, device: torch.device) -> Part | None:
    if images is None or not len(images):
        return None
    return Part(Store.place(images.pixels, device), torch.arange(len(images)), images.labels)

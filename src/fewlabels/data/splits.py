"""Who is labelled, who is not, who judges: index tensors only.

Every draw is stratified by class. A class's images are shuffled once a seed and taken from the front, so the 250 labels
of a seed are among its 1,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Int
from torch import Generator, Tensor

from fewlabels.data.images import UNKNOWN
from fewlabels.errors import InputError

SEEDS = (0, 1, 2, 3, 4)  # the five fixed splits
VALIDATION_SEED = 2020  # a benchmark's validation part is the same whatever the split's seed


@dataclass(frozen=True)
class Split:
    """Disjoint, sorted indices into a source's training images."""

    labeled: Int[Tensor, " l"]
    unlabeled: Int[Tensor, " u"]
    validation: Int[Tensor, " v"]  # empty when the source brings its own, or has too few labels


def draw_split(
    labels: Int[Tensor, " n"],
    *,
    classes: int,
    count: int | None = None,
    per: Literal["equal", "proportional"] = "equal",
    validation: int | Literal["tenth"] | None = None,
    unlabeled: int | None = None,
    seed: int = 0,
) -> Split:
    """Draw ``count`` labelled images (None: all) and a validation part; the rest is unlabelled.

    ``per="equal"`` takes count / c of each class; a remainder goes to the first classes, one each. ``"proportional"``
    follows the class sizes by largest remainders, at least one a class. Rows that are -1 are always unlabelled.

    ``validation`` is a number of images, proportional to the class sizes and the same for every seed; or ``"tenth"``: a
    tenth of each class's labelled images, rounded down; or None, for a source that brings its own. ``unlabeled`` keeps
    only that many unlabelled images (Fig. 2c).

    >>> split = draw_split(torch.tensor([0, 1, 0, 1, -1, 0]), classes=2, count=2, seed=0)
    >>> len(split.labeled), len(split.unlabeled), len(split.validation)
    (2, 4, 0)
    """
    _check_labels(labels, classes)
    judges = torch.zeros_like(labels, dtype=torch.bool)
    if isinstance(validation, int):
        judges = _benchmark_validation(labels, classes, validation)
    open_labels = labels.masked_fill(judges, UNKNOWN)
    available = _class_sizes(open_labels, classes)
    shares = _shares(available, count, per)
    generator = Generator().manual_seed(seed)
    chosen = _take(open_labels, shares, generator)
    if validation == "tenth":
        judges = _take(labels.masked_fill(~chosen, UNKNOWN), shares // 10, generator)
        chosen &= ~judges
    rest = (~chosen & ~judges).nonzero()[:, 0]
    if unlabeled is not None:
        rest = rest[draw_pool(len(rest), _enough(unlabeled, len(rest)), generator)]
    return Split(labeled=chosen.nonzero()[:, 0], unlabeled=rest, validation=judges.nonzero()[:, 0])


def draw_pool(count: int, size: int | Literal["all"] | None, generator: Generator) -> Int[Tensor, " pool"]:
    """Sorted positions of ``size`` among ``count`` unlabelled images, without repeats. None, "all" or too many: all.

    >>> draw_pool(3, "all", Generator()).tolist()
    [0, 1, 2]
    """
    if size is None or size == "all" or size >= count:
        return torch.arange(count)
    return torch.randperm(count, generator=generator)[:size].sort().values


def _take(labels: Int[Tensor, " n"], shares: Int[Tensor, " c"], generator: Generator) -> Bool[Tensor, " n"]:
    """Mark the first ``shares[j]`` images of class j in a random order."""
    order = torch.randperm(len(labels), generator=generator)
    order = order[labels[order] != UNKNOWN]
    grouped = order[labels[order].argsort(stable=True)]
    sizes = _class_sizes(labels, len(shares))
    starts = sizes.cumsum(0) - sizes
    owner = labels[grouped]
    rank = torch.arange(len(grouped)) - starts[owner]
    taken = torch.zeros_like(labels, dtype=torch.bool)
    taken[grouped[rank < shares[owner]]] = True
    return taken


def _benchmark_validation(labels: Int[Tensor, " n"], classes: int, size: int) -> Bool[Tensor, " n"]:
    known = int((labels != UNKNOWN).sum())
    if not 0 <= size < known:
        raise InputError(f"a validation part of {size} images was asked of {known} labelled ones: ask for fewer")
    shares = _proportional(_class_sizes(labels, classes), size)
    return _take(labels, shares, Generator().manual_seed(VALIDATION_SEED))


def _class_sizes(labels: Int[Tensor, " n"], classes: int) -> Int[Tensor, " c"]:
    return labels[labels != UNKNOWN].bincount(minlength=classes)


def _shares(available: Int[Tensor, " c"], count: int | None, per: str) -> Int[Tensor, " c"]:
    """How many labelled images each class gives."""
    classes, total = len(available), int(available.sum())
    if count is None:
        return available
    if count < classes:
        raise InputError(f"{count} labels cannot cover {classes} classes: ask for at least {classes}")
    if count > total:
        raise InputError(
            f"{count} labels were asked for, but only {total} images are labelled: ask for {total} or fewer"
        )
    if per == "proportional":
        return _at_least_one(_proportional(available, count))
    shares = torch.full_like(available, count // classes)
    shares[: count % classes] += 1
    if (shares > available).any():
        short = int((available - shares).argmin())
        raise InputError(
            f"{count} labels over {classes} classes need {int(shares[short])} of class {short}, which has "
            f"{int(available[short])}: ask for at most {int(available.min()) * classes}, or stratify proportionally"
        )
    return shares


def _proportional(available: Int[Tensor, " c"], count: int) -> Int[Tensor, " c"]:
    """Largest remainders: whole quotas first, what is left to the largest fractions (ties to the first class)."""
    total = int(available.sum())
    shares = available * count // total
    left = count - int(shares.sum())
    fractions = available * count % total
    shares[fractions.argsort(descending=True, stable=True)[:left]] += 1
    return shares


def _at_least_one(shares: Int[Tensor, " c"]) -> Int[Tensor, " c"]:
    """Give each class without a share one of the largest's."""
    for empty in (shares == 0).nonzero()[:, 0]:
        shares[shares.argmax()] -= 1
        shares[empty] = 1
    return shares


def _enough(wanted: int, there: int) -> int:
    if wanted > there:
        raise InputError(f"{wanted} unlabelled images were asked for, but there are {there}: ask for {there} or fewer")
    return wanted


def _check_labels(labels: Int[Tensor, " n"], classes: int) -> None:
    if classes < 2:
        raise InputError(f"a classifier tells classes apart, but there is {classes}: give images of at least two")
    outside = (labels < UNKNOWN) | (labels >= classes)
    if outside.any():
        row = int(outside.nonzero()[0])
        raise InputError(f"label {int(labels[row])} of image {row} is not in 0 .. {classes - 1}, nor -1 for unlabelled")
    missing = (_class_sizes(labels, classes) == 0).nonzero()[:, 0].tolist()
    if missing:
        raise InputError(f"class {missing[0]} has no labelled image: label at least one, or leave the class out")

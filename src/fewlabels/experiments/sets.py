"""The two data sets of the paper as its experiments ask for them."""

from __future__ import annotations

from fewlabels.train.config import Config

LABELS = {"cifar10": 4_000, "svhn": 1_000}  # of Tables 1 and 2
TRAINING = {"cifar10": 45_000, "svhn": 65_932}  # all there are beside the validation part
# Of Fig. 1 and 2, which print no numbers: around those of Table 1, the same in both, so that their runs are shared.
COUNTS = {"cifar10": (500, 1_000, 2_000, 4_000, 8_000), "svhn": (250, 500, 1_000, 2_000, 4_000)}


def on_both(methods: tuple[str, ...]) -> tuple[Config, ...]:
    """Each method on CIFAR-10 with 4,000 labels and on SVHN with 1,000.

    >>> [(ask.data, ask.labels) for ask in on_both(("rot",))]
    [('cifar10', 4000), ('svhn', 1000)]
    """
    return tuple(Config(data, method, labels=labels) for data, labels in LABELS.items() for method in methods)


def with_counts() -> tuple[Config, ...]:
    """ROT with each number of labels on each data set, the pairs priced exactly: Fig. 1 a, b draw what they cost."""
    exact = {"solver": "exact"}
    return tuple(
        Config(data, "rot", labels=labels, overrides=exact) for data, counts in COUNTS.items() for labels in counts
    )


def with_all_labels() -> tuple[Config, ...]:
    """The network trained on every label of the training part, whose classes are of unequal sizes on SVHN."""
    return tuple(
        Config(data, "supervised", labels=labels, stratify="proportional") for data, labels in TRAINING.items()
    )

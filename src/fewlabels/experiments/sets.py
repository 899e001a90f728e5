"""The two data sets of the paper as its experiments ask for them."""

from __future__ import annotations

from fewlabels.train.config import Config

LABELS = {"cifar10": 4_000, "svhn": 1_000}  # of Tables 1 and 2
TRAINING = {"cifar10": 45_000, "svhn": 65_932}  # all there are beside the validation part


def on_both(methods: tuple[str, ...]) -> tuple[Config, ...]:
    """Each method on CIFAR-10 with 4,000 labels and on SVHN with 1,000.

    >>> [(ask.data, ask.labels) for ask in on_both(("rot",))]
    [('cifar10', 4000), ('svhn', 1000)]
    """
    return tuple(Config(data, method, labels=labels) for data, labels in LABELS.items() for method in methods)

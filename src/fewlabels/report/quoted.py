"""Published test errors, each with its source. They stand beside our numbers, never among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ROT_PAPER = "Taherkhani et al. (2020), Tables 1 and 2"
OLIVER = "Oliver et al. (2018), Table 1"
RERUN = "perrying/realistic-ssl-evaluation-pytorch"
FIXMATCH_PAPER = "Sohn et al. (2020), Table 2"
SOURCES = (ROT_PAPER, OLIVER, RERUN, FIXMATCH_PAPER)


@dataclass(frozen=True)
class Quote:
    """A test error that somebody else measured; errors are fractions, ``labels`` None is all of them."""

    method: str
    data: str
    labels: int | None
    mean: float
    deviation: float | None
    source: str


Percent = tuple[float, float | None]


def _quotes(source: str, cifar10: Mapping[str, Percent], svhn: Mapping[str, Percent]) -> tuple[Quote, ...]:
    """Errors as they are printed, in percent, at 4,000 labels of CIFAR-10 and 1,000 of SVHN."""
    return tuple(
        Quote(method, data, labels, round(mean / 100, 4), None if dev is None else round(dev / 100, 4), source)
        for data, labels, printed in (("cifar10", 4000, cifar10), ("svhn", 1000, svhn))
        for method, (mean, dev) in printed.items()
    )


QUOTES: tuple[Quote, ...] = (
    *_quotes(
        ROT_PAPER,
        {
            "supervised": (20.89, 0.47),
            "rot": (6.06, 0.12),
            "soft-rot": (6.82, 0.17),
            "pi": (16.37, 0.63),
            "mean-teacher": (15.87, 0.28),
            "vat": (13.86, 0.27),
            "vat-entmin": (13.13, 0.39),
            "pseudo-label": (17.78, 0.57),
            "sm-gnn": (13.95, 0.53),
            "ss-gnn": (18.63, 0.32),
        },
        {
            "supervised": (13.11, 0.53),
            "rot": (3.11, 0.45),
            "soft-rot": (3.51, 0.49),
            "pi": (7.19, 0.27),
            "mean-teacher": (5.65, 0.47),
            "vat": (5.63, 0.20),
            "vat-entmin": (5.35, 0.19),
            "pseudo-label": (7.62, 0.29),
            "sm-gnn": (7.91, 0.34),
            "ss-gnn": (11.89, 0.48),
        },
    ),
    Quote("supervised", "cifar10", None, 0.0423, 0.0018, ROT_PAPER),  # Sec. 7.1, the whole training set
    Quote("supervised", "svhn", None, 0.0256, 0.0004, ROT_PAPER),
    *_quotes(
        OLIVER,
        {
            "supervised": (20.26, 0.38),
            "pi": (16.37, 0.63),
            "mean-teacher": (15.87, 0.28),
            "vat": (13.86, 0.27),
            "vat-entmin": (13.13, 0.39),
            "pseudo-label": (17.78, 0.57),
        },
        {
            "supervised": (12.83, 0.47),
            "pi": (7.19, 0.27),
            "mean-teacher": (5.65, 0.47),
            "vat": (5.63, 0.20),
            "vat-entmin": (5.35, 0.19),
            "pseudo-label": (7.62, 0.29),
        },
    ),
    *_quotes(
        RERUN,
        {
            "supervised": (20.35, 0.14),
            "pi": (16.24, 0.38),
            "mean-teacher": (15.77, 0.22),
            "vat": (13.83, 0.49),
            "vat-entmin": (13.30, 0.27),
        },
        {
            "supervised": (12.33, 0.25),
            "pi": (7.81, 0.39),
            "mean-teacher": (6.48, 0.44),
            "vat": (5.84, 0.20),
            "vat-entmin": (5.76, 0.13),
        },
    ),
    *_quotes(FIXMATCH_PAPER, {"fixmatch": (4.26, None)}, {"fixmatch": (2.28, None)}),
)


def quote(method: str, data: str, labels: int | None, source: str = ROT_PAPER) -> Quote | None:
    """What a source printed for a cell, if it did.

    >>> quote("rot", "cifar10", 4000).mean
    0.0606
    >>> quote("rot", "digits", 100) is None
    True
    """
    asked = (method, data, labels, source)
    return next((q for q in QUOTES if (q.method, q.data, q.labels, q.source) == asked), None)

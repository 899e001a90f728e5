"""How methods, data sets and numbers are written for people."""

from __future__ import annotations

METHODS = {
    "supervised": "Supervised",
    "rot": "ROT",
    "soft-rot": "Soft-ROT",
    "ss-gnn": "S-S-GNN",
    "sm-gnn": "S-M-GNN",
    "self-label": "Self-label",
    "pi": "Pi-Model",
    "mean-teacher": "Mean Teacher",
    "vat": "VAT",
    "vat-entmin": "VAT + EntMin",
    "entmin": "EntMin",
    "pseudo-label": "Pseudo-Label",
    "fixmatch": "FixMatch",
    "softmatch": "SoftMatch",
    "sla": "SLA",
}
STAGES = {
    "outputs": "Outputs of the pool",
    "match": "Pseudo-labelling",
    "train": "Training steps",
    "evaluate": "Evaluation",
    "other": "Everything else",
}
DATA = {"cifar10": "CIFAR-10", "svhn": "SVHN", "svhn-extra": "SVHN-extra", "digits": "Digits"}


def method_name(key: str) -> str:
    """The name a method goes by in the paper's tables.

    >>> method_name("vat-entmin"), method_name("my-own")
    ('VAT + EntMin', 'my-own')
    """
    return METHODS.get(key, key)


def data_name(key: str) -> str:
    """The name a data set goes by.

    >>> data_name("cifar10")
    'CIFAR-10'
    """
    return DATA.get(key, key)


def labels_name(labels: int | None) -> str:
    """How many labels; None is all of them.

    >>> labels_name(4000), labels_name(1), labels_name(None)
    ('4,000 labels', '1 label', 'all labels')
    """
    if labels is None:
        return "all labels"
    return f"{thousands(labels)} label{'' if labels == 1 else 's'}"


def thousands(value: float) -> str:
    """A count with its thousands apart.

    >>> thousands(12800)
    '12,800'
    """
    return f"{value:,.0f}"


def percent(fraction: float | None, digits: int = 2) -> str:
    """A fraction in percent, without the sign; a dash where there is none.

    >>> percent(0.18019), percent(None)
    ('18.02', '–')
    """
    return "–" if fraction is None else f"{100 * fraction:.{digits}f}"


def duration(seconds: float) -> str:
    """A time with its two leading units.

    >>> duration(0.0042), duration(3.24), duration(200), duration(7500)
    ('4 ms', '3.2 s', '3 min 20 s', '2 h 5 min')
    """
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def shorten(text: str, limit: int) -> str:
    """The text, or its beginning and an ellipsis.

    >>> shorten("aeroplane", 6)
    'aerop…'
    """
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"

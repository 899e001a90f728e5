"""Colours that stay apart for the colour-blind, on light paper and on dark, used by the figures and the page alike.

The hues are Okabe and Ito's, darkened or lightened until each has a contrast of at least 3 with its ground.
"""

from __future__ import annotations

LIGHT = ("#0067a5", "#c2410c", "#00795a", "#a0438a", "#946200", "#4d6f8c", "#7a4fbf", "#5c5c5c")
DARK = ("#62b5ea", "#f08a4b", "#3ec99a", "#dd8fc6", "#e0b13c", "#9dbbd4", "#b69cf0", "#b8b8b8")
INK, MUTED, FAINT = "#1c2126", "#5b646d", "#dfe3e6"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # colour is never alone in telling lines apart


def colour(index: int) -> str:
    """The colour of a series on light paper; they repeat after eight.

    >>> colour(0) == colour(8)
    True
    """
    return LIGHT[index % len(LIGHT)]

"""Colours that stay apart for the colour-blind, on light paper and on dark, used by the figures and the page alike.

The hues are Okabe and Ito's, darkened or lightened until each has a contrast of at least 3 with its ground.
"""

from __future__ import annotations

LIGHT = ("#0067a5", "#c2410c", "#00795a", "#a0438a", "#946200", "#4d6f8c", "#7a4fbf", "#5c5c5c")
DARK = ("#62b5ea", "#f08a4b", "#3ec99a", "#dd8fc6", "#e0b13c", "#9dbbd4", "#b69cf0", "#b8b8b8")
INK, MUTED, FAINT = "#1c2126", "#5b646d", "#dfe3e6"
# Colour is never alone in telling lines apart: a marker of each series, and its outline around 0 0.
OUTLINES = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
    "s": "M-3.6-3.6h7.2v7.2h-7.2Z",
    "^": "M0-4.8L4.6 3.4H-4.6Z",
    "D": "M0-5L5 0L0 5L-5 0Z",
    "v": "M0 4.8L4.6-3.4H-4.6Z",
    "P": "M-1.7-4.8h3.4v3.1h3.1v3.4h-3.1v3.1h-3.4v-3.1h-3.1v-3.4h3.1Z",
    "X": "M0-2.2L2.6-4.8L4.8-2.6L2.2 0L4.8 2.6L2.6 4.8L0 2.2L-2.6 4.8L-4.8 2.6L-2.2 0L-4.8-2.6L-2.6-4.8Z",
    "*": "M0-5.4L1.3-1.8L5.1-1.7L2.1.7L3.2 4.4L0 2.2L-3.2 4.4L-2.1.7L-5.1-1.7L-1.3-1.8Z",
}
MARKERS = tuple(OUTLINES)


def colour(index: int) -> str:
    """The colour of a series on light paper; they repeat after eight.

    >>> colour(0) == colour(8)
    True
    """
    return LIGHT[index % len(LIGHT)]

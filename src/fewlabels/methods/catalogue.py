"""Every method by name: a labeler or none, terms or none, a recipe."""

from __future__ import annotations

from fewlabels.methods.method import Method

METHODS: dict[str, Method] = {
    "supervised": Method(summary="cross-entropy on the labelled images alone"),
}

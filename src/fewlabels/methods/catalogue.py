"""Every method by name: a labeler or none, terms or none, a recipe."""

from __future__ import annotations

from fewlabels.labels import ROT, Argmax, SampleToMeasure, SampleToSample
from fewlabels.methods.method import Method
from fewlabels.methods.recipes import STRONG

METHODS: dict[str, Method] = {
    "supervised": Method(recipe=STRONG, summary="cross-entropy on the labelled images alone"),
    "rot": Method(
        ROT(), recipe=STRONG, summary="each cluster of unlabelled outputs takes the class it is coupled with"
    ),
    "soft-rot": Method(
        ROT(soft=True), recipe=STRONG, summary="each cluster takes its row of the coupling as soft labels"
    ),
    "ss-gnn": Method(SampleToSample(), recipe=STRONG, summary="the label of the nearest labelled output"),
    "sm-gnn": Method(SampleToMeasure(), recipe=STRONG, summary="the class whose labelled outputs are nearest in W_2"),
    "self-label": Method(Argmax(), recipe=STRONG, summary="the classifier's own first choice, made anew each epoch"),
}

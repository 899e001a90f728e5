"""Every method by name: a labeler or none, terms or none, a recipe."""

from __future__ import annotations

from dataclasses import replace

from fewlabels.labels import ROT, Argmax, SampleToMeasure, SampleToSample
from fewlabels.methods.entmin import EntMin
from fewlabels.methods.fixmatch import FixMatch
from fewlabels.methods.mean_teacher import MeanTeacher
from fewlabels.methods.method import Method
from fewlabels.methods.pi import Pi
from fewlabels.methods.pseudo_label import PseudoLabel
from fewlabels.methods.ramps import Ramp
from fewlabels.methods.recipes import OLIVER, STRONG
from fewlabels.methods.sla import SLA
from fewlabels.methods.softmatch import SoftMatch
from fewlabels.methods.vat import VAT

_TWO = replace(OLIVER, unlabeled_views=("standard", "standard"))
_WEAK_STRONG = replace(STRONG, unlabeled_views=("weak", "strong"))

METHODS: dict[str, Method] = {
    "supervised": Method(recipe=STRONG, summary="cross-entropy on the labelled images alone"),
    "rot": Method(
        ROT(), recipe=STRONG, summary="each cluster of unlabelled outputs takes the class it is coupled with"
    ),
    "soft-rot": Method(ROT(soft=True), recipe=STRONG, summary="each cluster takes its row of the coupling, softly"),
    "ss-gnn": Method(SampleToSample(), recipe=STRONG, summary="the label of the nearest labelled output"),
    "sm-gnn": Method(SampleToMeasure(), recipe=STRONG, summary="the class whose labelled outputs are nearest in W_2"),
    "self-label": Method(Argmax(), recipe=STRONG, summary="the classifier's own first choice, made anew each epoch"),
    "pi": Method(
        terms=((Ramp(20.0), Pi()),),
        recipe=replace(_TWO, learning_rate=3e-4),
        summary="two views of an image should give one answer",
    ),
    "mean-teacher": Method(
        terms=((Ramp(8.0), MeanTeacher()),),
        recipe=replace(_TWO, learning_rate=4e-4),
        summary="agree with the average of the weights",
    ),
    "vat": Method(terms=((Ramp(0.3), VAT()),), recipe=_TWO, summary="withstand the worst small change of an image"),
    "vat-entmin": Method(
        terms=((Ramp(0.3), VAT()), (0.1, EntMin())), recipe=_TWO, summary="VAT, and answers should be decided"
    ),
    "entmin": Method(terms=((0.1, EntMin()),), recipe=OLIVER, summary="answers should be decided"),
    "pseudo-label": Method(
        terms=((Ramp(1.0), PseudoLabel()),),
        recipe=replace(OLIVER, learning_rate=3e-4),
        summary="confident answers become labels within the step",
    ),
    "fixmatch": Method(
        terms=((1.0, FixMatch()),),
        recipe=_WEAK_STRONG,
        summary="what a weak view is sure of, a strong view should say",
    ),
    "softmatch": Method(
        terms=((1.0, SoftMatch()),),
        recipe=_WEAK_STRONG,
        summary="FixMatch with weights that follow the confidence of the run instead of a threshold",
    ),
    "sla": Method(
        terms=((1.0, SLA()),),
        recipe=_WEAK_STRONG,
        summary="labels allocated to all unlabelled images at once by one transport problem",
    ),
}

# What a method's knobs are for one data set under one of these normalisations: the radii of Oliver et al. (2018). They
# normalised CIFAR-10 with gcn-zca; under gcn the same 6 is half as large a share of an image.
FOR_DATA: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {
    "cifar10": (("gcn", "gcn-zca"), {"eps": 6.0}),
    "svhn": (("symmetric",), {"eps": 1.0}),
    "svhn-extra": (("symmetric",), {"eps": 1.0}),
}

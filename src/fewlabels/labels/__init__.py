"""Network outputs in, pseudo-labels out."""

from fewlabels.labels.classifier import Argmax
from fewlabels.labels.matching import Matching
from fewlabels.labels.neighbours import SampleToMeasure, SampleToSample
from fewlabels.labels.rot import ROT, match
from fewlabels.labels.types import Labeler, Outputs, PseudoLabels

__all__ = [
    "ROT",
    "Argmax",
    "Labeler",
    "Matching",
    "Outputs",
    "PseudoLabels",
    "SampleToMeasure",
    "SampleToSample",
    "match",
]

"""Scikit-learn's shape: ``y == -1`` marks what is not labelled, as in ``sklearn.semi_supervised``."""

from fewlabels.estimators.classifier import ROTClassifier
from fewlabels.estimators.transport import TransportLabeler

__all__ = ["ROTClassifier", "TransportLabeler"]

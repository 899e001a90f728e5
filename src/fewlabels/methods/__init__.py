"""What is minimised: methods as plain data, and the catalogue of them."""

from fewlabels.methods.catalogue import FOR_DATA, METHODS
from fewlabels.methods.entmin import EntMin
from fewlabels.methods.fixmatch import FixMatch
from fewlabels.methods.mean_teacher import MeanTeacher
from fewlabels.methods.method import Batch, Method, Recipe, Step, Term
from fewlabels.methods.pi import Pi
from fewlabels.methods.pseudo_label import PseudoLabel
from fewlabels.methods.ramps import Ramp
from fewlabels.methods.recipes import RECIPES
from fewlabels.methods.sla import SLA
from fewlabels.methods.softmatch import SoftMatch
from fewlabels.methods.vat import VAT

__all__ = [
    "FOR_DATA",
    "METHODS",
    "RECIPES",
    "SLA",
    "VAT",
    "Batch",
    "EntMin",
    "FixMatch",
    "MeanTeacher",
    "Method",
    "Pi",
    "PseudoLabel",
    "Ramp",
    "Recipe",
    "SoftMatch",
    "Step",
    "Term",
]

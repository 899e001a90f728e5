"""What is minimised: methods as plain data, and the catalogue of them."""

from fewlabels.methods.catalogue import METHODS
from fewlabels.methods.method import Batch, Method, Recipe, Step, Term
from fewlabels.methods.ramps import Ramp
from fewlabels.methods.recipes import RECIPES

__all__ = ["METHODS", "RECIPES", "Batch", "Method", "Ramp", "Recipe", "Step", "Term"]

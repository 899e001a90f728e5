"""Optimal transport: tensors in, frozen results out.

One function a verb: ``sinkhorn`` and ``exact`` solve for a plan, ``wasserstein`` measures two clouds and
``wasserstein_matrix`` every pair of two families, ``nested_wasserstein`` measures of measures.
"""

from fewlabels.ot.barycenter import barycenter_clusters
from fewlabels.ot.bounds import gaussian_matrix, mean_matrix
from fewlabels.ot.cost import distance_cost
from fewlabels.ot.exact import Exact, exact
from fewlabels.ot.free_support import free_support_barycenter
from fewlabels.ot.match_rows import RowMatch, match_rows
from fewlabels.ot.nested import nested_plan, nested_wasserstein
from fewlabels.ot.pair_bounds import gelbrich, line_bound
from fewlabels.ot.reference import reference_barycenter
from fewlabels.ot.sinkhorn import Sinkhorn, sinkhorn
from fewlabels.ot.types import Clustering, Measures, NotConverged, Plan
from fewlabels.ot.wasserstein import wasserstein, wasserstein_matrix

__all__ = [
    "Clustering",
    "Exact",
    "Measures",
    "NotConverged",
    "Plan",
    "RowMatch",
    "Sinkhorn",
    "barycenter_clusters",
    "distance_cost",
    "exact",
    "free_support_barycenter",
    "gaussian_matrix",
    "gelbrich",
    "line_bound",
    "match_rows",
    "mean_matrix",
    "nested_plan",
    "nested_wasserstein",
    "reference_barycenter",
    "sinkhorn",
    "wasserstein",
    "wasserstein_matrix",
]

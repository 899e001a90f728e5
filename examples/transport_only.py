"""The optimal transport alone: cluster feature vectors, and match the clusters with labelled classes.

python examples/transport_only.py [POINTS]
"""

from __future__ import annotations

import sys

import torch

from fewlabels import ot
from fewlabels.labels import match

points = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000

# Five clouds in 16 dimensions, of unequal sizes; five points of each have a label.
generator = torch.Generator().manual_seed(0)
means = 4 * torch.randn(5, 16, generator=generator)
truth = torch.multinomial(torch.tensor([0.35, 0.25, 0.2, 0.1, 0.1]), points, replacement=True, generator=generator)
x_u = means[truth] + torch.randn(points, 16, generator=generator)
y_l = torch.arange(5).repeat_interleave(5)
x_l = means[y_l] + torch.randn(25, 16, generator=generator)

# A plan between clusters and classes, by hand: Alg. 1, all pairs of W_2, Eq. 3.
start = torch.stack([x_l[y_l == j].mean(0) for j in range(5)])
clusters = ot.barycenter_clusters(x_u, 5, init=start)
qs = [x_u[clusters.assignment == i] for i in range(5)]
ps = [x_l[y_l == j] for j in range(5)]
cost = ot.wasserstein_matrix(qs, ps, order=2, solver=ot.Exact()).double()
beta, alpha = torch.tensor([len(q) / points for q in qs]).double(), torch.full((5,), 0.2).double()
plan = ot.sinkhorn(cost, beta / beta.sum(), alpha, reg=1.0)
print("sizes of the clusters", [len(q) for q in qs])
print("the plan's rows go to", plan.matrix.argmax(1).tolist(), f"at marginal error {plan.marginal_error:.0e}")

# The same in one call, on features of any scale.
matching = match(x_l, y_l, x_u, classes=5, scale=True, generator=generator)
print(f"right labels {(matching.labels == truth).float().mean():.1%}, transport cost {matching.cost:.3f}")

# And how far two clouds are apart, with a solver of your choice.
exact = ot.wasserstein(qs[0], qs[1])
smooth = ot.wasserstein(qs[0], qs[1], solver=ot.Sinkhorn(reg=1.0, debiased=True))
print(f"W_2 of the first two clusters: {float(exact):.3f}, by debiased Sinkhorn {float(smooth):.3f}")

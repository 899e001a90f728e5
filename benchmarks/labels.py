"""What the pair costs of Alg. 2, l. 7-9 may be: time of each stage of the match, and the labels against the exact ones.

python benchmarks/labels.py            # seconds for 10 classes, about two minutes with 100
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from records import append
from softmax import softmax_outputs
from torch import Tensor

from fewlabels import ot
from fewlabels.labels import Matching, match
from fewlabels.labels.coupling import couple

REG = 0.25
# classes, labelled outputs, pool, sharpness: a power of the probabilities; 4 is late in training, 83 % nearly one-hot
SIZES = [(10, 4000, 4000, 1), (10, 4000, 4000, 4), (10, 4000, 8192, 1), (10, 1000, 1000, 1), (100, 10000, 10000, 1)]
SEEDS = (0, 1, 2)


def problem(classes: int, labeled: int, pool: int, sharp: float, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Simulated outputs in float32, as a network gives them, with the truth of both parts."""
    x_l, y_l = softmax_outputs(labeled, classes, 2 * seed)
    x_u, y_u = softmax_outputs(pool, classes, 2 * seed + 1)
    x_l, x_u = (x.pow(sharp) / x.pow(sharp).sum(1, keepdim=True) for x in (x_l, x_u))
    return x_l.float(), y_l, x_u.float(), y_u


def families(x_l: Tensor, y_l: Tensor, x_u: Tensor, matching: Matching) -> tuple[list[Tensor], list[Tensor]]:
    """The clusters of a matching, and the classes."""
    assignment = matching.clustering.assignment
    qs = [x_u[assignment == i] for i in range(len(matching.clustering.centers))]
    return qs, [x_l[y_l == j] for j in range(int(y_l.max()) + 1)]


def certified(qs: list[Tensor], ps: list[Tensor], beta: Tensor, alpha: Tensor) -> Tensor:
    return ot.match_rows(qs, ps, reg=REG, masses=(beta, alpha)).labels


def priced(solver: ot.Exact | ot.Sinkhorn | None) -> Callable[..., Tensor]:
    """Labels from the plan of these pair costs."""

    def label(qs: list[Tensor], ps: list[Tensor], beta: Tensor, alpha: Tensor) -> Tensor:
        X = ot.gaussian_matrix(qs, ps) if solver is None else ot.wasserstein_matrix(qs, ps, solver=solver)
        return couple(X.double(), beta, alpha, REG).matrix.argmax(1)

    return label


WAYS: dict[str, Callable[..., Tensor]] = {
    "exact": priced(ot.Exact()),
    "bound": priced(None),
    "sinkhorn 0.05": priced(ot.Sinkhorn(reg=0.05)),
    "sinkhorn 0.05 debiased": priced(ot.Sinkhorn(reg=0.05, debiased=True)),
    "certified": certified,
}


def timed(work: Callable[[], Tensor | Matching]) -> tuple[Tensor | Matching, float]:
    began = time.perf_counter()
    found = work()
    return found, time.perf_counter() - began


def main() -> None:
    for classes, labeled, pool, sharp in SIZES:
        seconds: dict[str, list[float]] = {name: [] for name in ("match", *WAYS)}
        agree: dict[str, list[float]] = {name: [] for name in WAYS}
        right: dict[str, list[float]] = {name: [] for name in (*WAYS, "classifier")}
        for seed in SEEDS:
            x_l, y_l, x_u, y_u = problem(classes, labeled, pool, sharp, seed)
            matching, spent = timed(lambda: match(x_l, y_l, x_u, classes=classes, reg=REG))  # noqa: B023
            seconds["match"].append(spent)
            qs, ps = families(x_l, y_l, x_u, matching)
            masses = matching.clustering.sizes.double() / pool, torch.bincount(y_l).double() / labeled
            reference = None
            for name, way in WAYS.items():
                labels, spent = timed(lambda: way(qs, ps, *masses)[matching.clustering.assignment])  # noqa: B023
                reference = labels if reference is None else reference
                seconds[name].append(spent)
                agree[name].append((labels == reference).double().mean().item())
                right[name].append((labels == y_u).double().mean().item())
            right["classifier"].append((x_u.argmax(1) == y_u).double().mean().item())
        fields = {
            "classes": classes,
            "labelled": labeled,
            "pool": pool,
            "sharpness": sharp,
            "reg": REG,
            "seeds": list(SEEDS),
            "seconds": {name: statistics.median(values) for name, values in seconds.items()},
            "agreement_with_exact": agree,
            "accuracy": right,
        }
        append("labels.jsonl", "pair costs", fields)
        print(classes, labeled, pool, sharp, {k: round(v, 4) for k, v in fields["seconds"].items()})  # type: ignore[attr-defined]
        print(
            "   agreement",
            {k: min(v) for k, v in agree.items()},
            "accuracy",
            {k: round(v[0], 3) for k, v in right.items()},
        )


if __name__ == "__main__":
    main()

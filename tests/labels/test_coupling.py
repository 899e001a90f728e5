from __future__ import annotations

import pytest
import torch
from torch import Generator

from fewlabels import ot
from fewlabels.errors import RunError
from fewlabels.labels.coupling import couple


def masses(n: int, generator: Generator) -> torch.Tensor:
    drawn = torch.rand(n, generator=generator, dtype=torch.float64) ** 3
    return drawn / drawn.sum()


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (50, 10), (4, 30)])
@pytest.mark.parametrize("reg", [1.0, 0.05])
def test_the_plan_is_sinkhorn_s(shape, reg):
    generator = Generator().manual_seed(0)
    cost = torch.rand(shape, generator=generator, dtype=torch.float64)
    beta, alpha = masses(shape[0], generator), masses(shape[1], generator)
    plan = couple(cost, beta, alpha, reg)
    oracle = ot.sinkhorn(cost, beta, alpha, reg=reg)
    assert torch.allclose(plan.matrix, oracle.matrix, atol=1e-8)
    assert plan.converged


@pytest.mark.parametrize("separation", [1.0, 3.0, 10.0, 100.0])
@pytest.mark.parametrize("reg", [0.25, 0.05, 0.01])
def test_nearly_permutations_need_no_rounds(separation, reg):
    generator = Generator().manual_seed(1)
    noise = torch.rand(10, 10, generator=generator, dtype=torch.float64)
    cost = separation * (noise + 1 - torch.eye(10, dtype=torch.float64))
    even = torch.full((10,), 0.1, dtype=torch.float64)
    plan = couple(cost, even, even, reg)
    assert plan.matrix.argmax(1).tolist() == list(range(10))
    assert plan.iterations <= 10
    assert plan.marginal_error < 1e-9


def test_a_class_without_mass_receives_none():
    cost = torch.tensor([[0.0, 1.0, 0.1], [1.0, 0.0, 0.1]], dtype=torch.float64)
    half = torch.tensor([0.5, 0.5], dtype=torch.float64)
    plan = couple(cost, half, torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64), 0.25)
    assert plan.matrix[:, 2].tolist() == [0.0, 0.0]
    assert plan.matrix.argmax(1).tolist() == [0, 1]


def test_a_small_reg_meets_the_exact_plan():
    generator = Generator().manual_seed(0)
    cost = torch.rand(5, 5, generator=generator, dtype=torch.float64)
    beta, alpha = masses(5, generator), masses(5, generator)
    assert torch.allclose(couple(cost, beta, alpha, 1e-6).matrix, ot.exact(cost, beta, alpha).matrix, atol=1e-7)


def test_a_reg_near_rounding_is_a_failed_run():
    generator = Generator().manual_seed(0)
    cost = torch.rand(40, 30, generator=generator, dtype=torch.float64)
    with pytest.raises(RunError, match=r"matching clusters and classes: .*raise reg \(now 1e-13"):
        couple(cost, masses(40, generator), masses(30, generator), 1e-13)

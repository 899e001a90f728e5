"""The iteration itself, on batches: each problem ends on its own."""

from __future__ import annotations

import pytest
import torch
from clouds_for_ot import problem
from torch import Tensor

from fewlabels import ot
from fewlabels.ot.scaling import Scaled, scale


def batch(count: int, n: int, m: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    costs, a, b = zip(*(problem(n, m, 10 * seed, dtype) for seed in range(count)), strict=True)
    return torch.stack(costs), torch.stack(a), torch.stack(b)


def solve(cost: Tensor, a: Tensor, b: Tensor, **options) -> list[Scaled]:
    options = {"reg": 0.01, "tol": 1e-8, "max_iter": 10_000, "highest": float(cost.max()), **options}
    return list(scale(cost, a, b, **options))


def plans(parts: list[Scaled], like: Tensor) -> Tensor:
    found = torch.full_like(like, torch.nan)
    for part in parts:
        found[part.index] = part.matrix
    return found


def test_a_batch_gives_what_its_problems_give_alone():
    cost, a, b = batch(12, 9, 7)
    parts = solve(cost, a, b)
    assert sorted(torch.cat([part.index for part in parts]).tolist()) == list(range(12))
    alone = [ot.sinkhorn(*one, reg=0.01, tol=1e-10).matrix for one in zip(cost, a, b, strict=True)]
    assert torch.allclose(plans(parts, cost), torch.stack(alone), atol=1e-7)
    for part in parts:
        assert float(part.error.max()) <= 1e-8
        T = ((part.f[:, :, None] + part.g[:, None] - cost[part.index]) / 0.01).exp()
        assert torch.allclose(T, part.matrix, atol=1e-7)


def test_the_slowest_problem_holds_no_other_back():
    cost, a, b = batch(8, 20, 20)
    cost[:7] *= 1e-3  # at this reg nearly flat: a few sweeps
    parts = solve(cost, a, b, reg=1e-3)
    ends = {int(i): part.iterations for part in parts for i in part.index}
    assert max(ends[i] for i in range(7)) <= 40 < 100 < ends[7]
    assert int(parts[-1].index) == 7


def test_newtons_method_takes_those_that_crawl_and_no_other():
    cost, a, b = batch(6, 60, 60)
    cost[:5] *= 1e-6
    parts = solve(cost, a, b, reg=1e-5)
    assert sum(len(part.index) for part in parts[:-1]) == 5
    assert int(parts[-1].index) == 5
    assert 600 < parts[-1].iterations < 700
    assert torch.allclose(plans(parts, cost)[5], ot.exact(cost[5], a[5], b[5]).matrix, atol=1e-4)


def test_a_few_that_have_ended_stay_until_they_are_a_quarter():
    cost, a, b = batch(10, 60, 60)
    cost[0] *= 1e-6
    parts = solve(cost, a, b, reg=1e-5)
    assert sorted(torch.cat([part.index for part in parts]).tolist()) == list(range(10))
    assert parts[0].index.tolist() == [0]


@pytest.mark.parametrize("limit", [1, 7, 41])
def test_the_limit_counts_sweeps_whatever_they_serve(limit):
    cost, a, b = batch(3, 10, 10)
    parts = solve(cost, a, b, reg=1e-3, max_iter=limit)
    assert {part.iterations for part in parts} == {limit}
    assert all(float(part.error.min()) > 1e-8 for part in parts)


def test_a_place_to_work_in_serves_several_batches():
    cost, a, b = batch(1, 30, 40)
    room = torch.empty(30 * 40 + 7, dtype=torch.float64)
    [part] = solve(cost, a, b, kernel=room.resize_(cost.shape))
    assert part.matrix.data_ptr() == room.data_ptr()
    assert torch.allclose(part.matrix[0], ot.sinkhorn(cost[0], a[0], b[0], reg=0.01).matrix, atol=1e-12)


def test_blocks_do_not_show(monkeypatch):
    cost, a, b = problem(50, 30, 1)
    whole = ot.sinkhorn(cost, a, b, reg=0.01)
    monkeypatch.setattr("fewlabels.ot.scaling._BLOCK", 100)
    parts = ot.sinkhorn(cost, a, b, reg=0.01)
    assert torch.allclose(parts.matrix, whole.matrix, atol=1e-8)
    assert parts.iterations == whole.iterations


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_an_overflow_is_taken_back(dtype):
    """One row is so far from all columns but one that its first sweeps leave the range of the floating type."""
    cost, a, b = problem(30, 30, 2, dtype)
    cost[0] = torch.linspace(0, 1e3, 30, dtype=dtype)
    cost[:, 0] = torch.linspace(0, 1e3, 30, dtype=dtype)
    plan = ot.sinkhorn(cost, a, b, reg=0.05)
    assert float(plan.cost) == pytest.approx(float(ot.exact(cost.double(), a.double(), b.double()).cost), rel=0.02)

"""The ground cost."""

from __future__ import annotations

import pytest
import torch
from clouds_for_ot import points

from fewlabels import ot
from fewlabels.ot.cost import paired_cost


@pytest.mark.parametrize("order", [1, 1.5, 2, 3])
def test_it_is_a_power_of_the_distance(order):
    x, y = points(6, 3, 0), points(9, 3, 1)
    brute = (x[:, None] - y).norm(dim=2) ** order
    assert torch.allclose(ot.distance_cost(x, y, order), brute)
    assert torch.allclose(paired_cost(x, y[:6], order), brute.diagonal())
    assert torch.allclose(ot.distance_cost(x.expand(4, 6, 3), y.expand(4, 9, 3), order)[2], brute)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_far_from_0_it_keeps_its_digits(dtype):
    x, y = points(6, 3, 2, dtype).round(), points(9, 3, 3, dtype).round()
    assert torch.allclose(ot.distance_cost(x + 2**20, y + 2**20), ot.distance_cost(x, y), atol=1e-5)


def test_it_is_never_below_0():
    x = 1e-3 * points(50, 8, 4, torch.float32) + 1
    assert float(ot.distance_cost(x, x).min()) >= 0
    assert float(ot.distance_cost(x.requires_grad_(), x).detach().min()) >= 0


@pytest.mark.usefixtures("unchecked")
def test_clouds_of_two_spaces_and_small_orders_are_refused():
    with pytest.raises(ValueError, match="x has dimension 2 and y 3"):
        ot.distance_cost(torch.zeros(1, 2), torch.zeros(1, 3))
    with pytest.raises(ValueError, match=r"order is 0\.5"):
        ot.distance_cost(torch.zeros(1, 2), torch.zeros(1, 2), 0.5)

"""The networks: what Oliver et al. built, and what everything else relies on."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Generator, nn

from fewlabels.errors import InputError
from fewlabels.models import BACKBONES, Ema, SmallNet, WideResNet, build
from fewlabels.models.wide_resnet import SLOPE, Unit


@pytest.fixture(scope="module")
def wrn() -> WideResNet:
    torch.manual_seed(0)
    return WideResNet(depth=28, width=2, classes=10)


def units(network: WideResNet) -> list[Unit]:
    return [module for module in network.modules() if isinstance(module, Unit)]


def images(n: int = 2, channels: int = 3, side: int = 32) -> torch.Tensor:
    return torch.randn(n, channels, side, side, generator=Generator().manual_seed(1))


def test_wrn_28_2_has_the_papers_number_of_parameters(wrn: WideResNet) -> None:
    assert sum(p.numel() for p in wrn.parameters()) == 1_467_610


def test_three_groups_of_four_units_with_their_widths_and_strides(wrn: WideResNet) -> None:
    found = [(u.conv1.in_channels, u.conv1.out_channels, u.conv1.stride[0]) for u in units(wrn)]
    groups = [(16, 32, 1), (32, 64, 2), (64, 128, 2)]
    assert found == [unit for a, b, stride in groups for unit in ((a, b, stride), *[(b, b, 1)] * 3)]
    assert wrn.stem.weight.shape == (16, 3, 3, 3)
    assert [u.shortcut is not None for u in units(wrn)] == [True, False, False, False] * 3


def test_only_the_first_unit_shares_its_activation_with_the_shortcut(wrn: WideResNet) -> None:
    assert [u.share_activation for u in units(wrn)] == [True] + [False] * 11
    for unit, shares in zip((units(wrn)[0], units(wrn)[4]), (True, False), strict=True):
        seen = []
        hook = unit.shortcut.register_forward_hook(lambda _, given, out, seen=seen: seen.append(given[0].clone()))
        x = images(channels=unit.conv1.in_channels, side=8)
        expected = nn.functional.leaky_relu(unit.norm1(x), 0.1) if shares else x
        unit(x)
        hook.remove()
        assert torch.allclose(seen[0], expected, atol=1e-5)


def test_convolutions_have_no_bias_and_the_stated_spread(wrn: WideResNet) -> None:
    convolutions = [m for m in wrn.modules() if isinstance(m, nn.Conv2d)]
    assert len(convolutions) == 1 + 12 * 2 + 3
    for conv in convolutions:
        assert conv.bias is None
        expected = math.sqrt(2 / (conv.kernel_size[0] ** 2 * conv.out_channels))
        error = 5 * expected / math.sqrt(2 * conv.weight.numel())  # five standard deviations of a deviation
        assert abs(conv.weight.std().item() - expected) < error
        assert abs(conv.weight.mean().item()) < 5 * expected / math.sqrt(conv.weight.numel())


def test_the_dense_layer_is_glorot_normal_with_zero_bias(wrn: WideResNet) -> None:
    assert not wrn.dense.bias.any()
    expected = math.sqrt(2 / (128 + 10))
    assert wrn.dense.weight.std().item() == pytest.approx(expected, rel=0.1)


def test_the_slope_is_a_tenth_and_there_is_no_dropout(wrn: WideResNet) -> None:
    assert SLOPE == 0.1
    assert not [m for m in wrn.modules() if "Dropout" in type(m).__name__]
    assert len([m for m in wrn.modules() if isinstance(m, nn.BatchNorm2d)]) == 25


def test_the_output_is_the_dense_layer_of_the_pooled_features(wrn: WideResNet) -> None:
    wrn.eval()
    with torch.no_grad():
        features = wrn.features(images())
        assert features.shape == (2, 128)
        assert torch.allclose(wrn(images()), wrn.dense(features))
    wrn.train()


@pytest.mark.parametrize(("depth", "width"), [(10, 1), (16, 4), (22, 2)])
def test_depth_and_width_are_general(depth: int, width: int) -> None:
    network = build(f"wrn-{depth}-{width}", classes=7, channels=1)
    assert len(units(network)) == (depth - 4) // 2
    assert network(images(channels=1, side=12)).shape == (2, 7)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("wrn-28", "did you mean 'wrn-28-2'"),
        ("smal", "did you mean 'small'"),
        ("wrn-11-2", "has depth 6 n \\+ 4 with n >= 1, got 11: try 10, 16, 22 or 28"),
        ("wrn-4-2", "got 4"),
        ("wrn-10-0", "a width of at least 1, got 0"),
    ],
)
def test_a_network_that_is_not_there_is_refused(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        build(name, classes=10, channels=3)


@pytest.mark.parametrize("name", BACKBONES)
def test_every_network_takes_any_channels_and_sizes_and_has_features(name: str) -> None:
    for channels, side in ((1, 8), (3, 9), (4, 20)):
        network = build(name, classes=3, channels=channels).eval()
        assert network(images(channels=channels, side=side)).shape == (2, 3)
        assert network.features(images(channels=channels, side=side)).ndim == 2


@pytest.mark.parametrize("norm", [True, False])
def test_the_small_network_without_normalisation_treats_each_image_by_itself(norm: bool) -> None:
    torch.manual_seed(0)
    network, x = SmallNet(classes=2, channels=1, norm=norm), images(4, 1, 8)
    alone = torch.cat([network(row[None]) for row in x])
    assert torch.allclose(network(x), alone, atol=1e-5) == (not norm)


def test_an_average_follows_the_weights_and_copies_the_statistics() -> None:
    torch.manual_seed(0)
    network = SmallNet(classes=2, channels=1)
    ema = Ema(network)
    before = [p.clone() for p in ema.module.parameters()]
    network(images(4, 1, 8))  # the running statistics move
    with torch.no_grad():
        for p in network.parameters():
            p.add_(1.0)
    ema.update(network, decay=0.9)
    for average, old in zip(ema.module.parameters(), before, strict=True):
        assert torch.allclose(average, old + 0.1, atol=1e-6)
        assert not average.requires_grad
    assert all(torch.equal(a, b) for a, b in zip(ema.module.buffers(), network.buffers(), strict=True))
    assert not ema.module.training
    again = Ema(SmallNet(classes=2, channels=1))
    again.load_state_dict(ema.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(again.module.parameters(), ema.module.parameters(), strict=True))

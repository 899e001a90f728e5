"""Strong augmentation: each operation against what it says, an image at a time."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Generator, Tensor

from fewlabels.data.strong import OPERATIONS, affine, colour, cutout, randaugment


def images(count: int = 5, channels: int = 3, height: int = 9, width: int = 9, seed: int = 0) -> Tensor:
    return torch.rand(count, channels, height, width, generator=Generator().manual_seed(seed))


def tone(x: Tensor, **changes: float) -> Tensor:
    base = {"brightness": 1.0, "contrast": 1.0, "saturation": 1.0, "hue": 0.0}
    return colour(x, **{name: torch.full((len(x),), value) for name, value in (base | changes).items()})


def test_no_change_of_colour_is_none() -> None:
    assert torch.allclose(tone(images()), images(), atol=1e-6)


def test_brightness_scales_and_contrast_stretches_about_the_mean() -> None:
    x = 0.3 + 0.2 * images()
    assert torch.allclose(tone(x, brightness=1.2), 1.2 * x, atol=1e-6)
    grey = x.mean((1, 2, 3), keepdim=True)
    assert torch.allclose(tone(x, contrast=0.5), grey + 0.5 * (x - grey), atol=1e-6)


def test_no_saturation_is_grey() -> None:
    out = tone(images(), saturation=0.0)
    assert torch.allclose(out, images().mean(1, keepdim=True).expand_as(out), atol=1e-6)


def test_a_third_of_a_turn_of_hue_moves_the_channels_on() -> None:
    out = tone(images(), hue=2 * math.pi / 3)
    assert torch.allclose(out, images().roll(1, 1), atol=1e-5)


def test_opposite_turns_of_hue_undo_each_other() -> None:
    x = 0.45 + 0.1 * images()
    assert torch.allclose(tone(tone(x, hue=0.4), hue=-0.4), x, atol=1e-5)


@pytest.mark.parametrize("channels", [1, 4])
def test_images_of_other_channels_have_no_hue(channels: int) -> None:
    x = images(channels=channels)
    assert torch.allclose(tone(x, hue=1.0, saturation=0.3), x, atol=1e-6)


def test_no_motion_is_none() -> None:
    assert torch.allclose(affine(images()), images(), atol=1e-5)


def test_a_quarter_turn_of_a_square_is_exact() -> None:
    turned = affine(images(), angle=math.pi / 2)
    assert torch.allclose(turned, images().rot90(1, (2, 3)), atol=1e-4) or torch.allclose(
        turned, images().rot90(-1, (2, 3)), atol=1e-4
    )


@pytest.mark.parametrize(("height", "width"), [(9, 9), (6, 12)])
def test_a_move_by_whole_pixels_is_exact(height: int, width: int) -> None:
    x = images(height=height, width=width)
    assert torch.allclose(affine(x, move_x=3 / width)[..., :-3], x[..., 3:], atol=1e-4)
    assert torch.allclose(affine(x, move_y=2 / height)[..., :-2, :], x[..., 2:, :], atol=1e-4)


def test_a_shear_moves_rows_by_their_height_also_in_wide_images() -> None:
    x = images(height=9, width=21)
    sheared = affine(x, shear_x=1.0)  # row y comes from x + y, counted from the centre
    for row in range(9):
        by = row - 4
        inside = slice(max(0, -by), 21 - max(0, by))
        assert torch.allclose(sheared[:, :, row, inside], x[:, :, row].roll(-by, -1)[..., inside], atol=1e-4)


def test_cutout_zeroes_the_square_and_nothing_else() -> None:
    x = images() + 0.1
    rows, columns = torch.tensor([4, 0, 8, 4, 2]), torch.tensor([4, 0, 8, 0, 6])
    out = cutout(x, rows, columns, 4)
    for image, kept, row, column in zip(out, x, rows.tolist(), columns.tolist(), strict=True):
        expected = kept.clone()
        expected[:, max(0, row - 2) : row + 2, max(0, column - 2) : column + 2] = 0
        assert torch.equal(image, expected)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("channels", [1, 3])
def test_operations_stay_in_the_unit_interval_and_leave_their_input(name: str, channels: int) -> None:
    x = images(40, channels)
    before = x.clone()
    out = OPERATIONS[name](x, torch.linspace(-1, 1, 40))
    assert out.shape == x.shape
    assert out.min() >= 0
    assert out.max() <= 1 + 1e-6
    assert torch.equal(x, before)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_treat_each_image_by_itself(name: str) -> None:
    x, level = images(6), torch.linspace(-1, 1, 6)
    alone = torch.cat([OPERATIONS[name](x[i : i + 1], level[i : i + 1]) for i in range(6)])
    assert torch.allclose(OPERATIONS[name](x, level), alone, atol=1e-5)


@pytest.mark.parametrize(
    "name",
    sorted(set(OPERATIONS) - {"auto-contrast", "equalize", "posterize"}),  # these have no strength, or whole steps
)
def test_level_zero_changes_nothing(name: str) -> None:
    assert torch.allclose(OPERATIONS[name](images(), torch.zeros(5)), images(), atol=1e-5)


def test_auto_contrast_spans_the_whole_range() -> None:
    out = OPERATIONS["auto-contrast"](0.3 + 0.2 * images(), torch.zeros(5))
    assert torch.allclose(out.amin((2, 3)), torch.zeros(5, 3), atol=1e-6)
    assert torch.allclose(out.amax((2, 3)), torch.ones(5, 3), atol=1e-6)
    flat = 0.4 + 1e-7 * images()
    assert torch.equal(OPERATIONS["auto-contrast"](flat, torch.zeros(5)), flat)


def test_equalize_flattens_the_histogram_and_keeps_the_order() -> None:
    skewed = (images(1, 1, 16, 16) ** 2 * 255).round() / 255
    out = OPERATIONS["equalize"](skewed, torch.zeros(1)).flatten()
    assert out.quantile(0.5) == pytest.approx(0.5, abs=0.1)
    order = skewed.flatten().argsort(stable=True)
    assert (out[order].diff() >= 0).all()
    flat = torch.full((1, 1, 4, 4), 102 / 255)
    assert torch.allclose(OPERATIONS["equalize"](flat, torch.zeros(1)), flat)


def test_posterize_keeps_bits_and_solarize_inverts() -> None:
    x = (images() * 255).round() / 255
    assert len(OPERATIONS["posterize"](x, torch.ones(5)).unique()) <= 16
    assert torch.allclose(OPERATIONS["solarize"](x, torch.ones(5)), torch.where(x > 0, 1 - x, x))


def test_randaugment_has_a_policy_for_each_image() -> None:
    x, names = images(30), list(OPERATIONS)
    generator = Generator().manual_seed(0)
    which = torch.randint(len(names), (30, 2), generator=generator)
    level = 2 * torch.rand(30, 2, generator=generator) - 1
    out = randaugment(x, which, level)
    for i in range(30):
        expected = x[i : i + 1]
        for k in range(2):
            expected = OPERATIONS[names[which[i, k]]](expected, level[i, k : k + 1])
        assert torch.allclose(out[i : i + 1], expected, atol=1e-5)

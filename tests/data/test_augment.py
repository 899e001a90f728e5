"""Views: what each may do to an image, and that it does not matter how a batch is cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from fewlabels.data.augment import Draws, View, make_view, shift
from fewlabels.data.normalize import fit
from fewlabels.errors import InputError

VIEWS = ("plain", "standard", "weak", "strong", "randaugment")
SHAPES = ((3, 32, 32), (1, 8, 8), (3, 12, 20))


def pixels(count: int, shape: tuple[int, int, int], seed: int = 0) -> Tensor:
    return torch.randint(0, 256, (count, *shape), generator=Generator().manual_seed(seed), dtype=torch.uint8)


def view(name: str, images: Tensor, *, flip: bool = True, noise: float = 0.15, normalize: str = "symmetric") -> View:
    return make_view(name, fit(normalize, images), flip=flip, noise=noise)


def draws(total: int, seed: int = 0, start: int = 0, count: int | None = None) -> Draws:
    return Draws(Generator().manual_seed(seed), total, start, count)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_keeps_shape_and_gives_numbers(name: str, shape: tuple[int, int, int]) -> None:
    images = pixels(6, shape)
    out = view(name, images)(images, draws(6))
    assert out.shape == images.shape
    assert out.dtype == torch.float32
    assert out.isfinite().all()


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("cuts", [(0, 4, 9), (0, 1, 2, 9)])
def test_the_view_of_a_shard_is_the_shard_of_the_view(name: str, cuts: tuple[int, ...]) -> None:
    images = pixels(9, (3, 16, 16))
    see = view(name, images)
    whole = see(images, draws(9))
    parts = [see(images[i:j], draws(9, start=i, count=j - i)) for i, j in pairwise(cuts)]
    assert torch.allclose(torch.cat(parts), whole, atol=1e-6)


@pytest.mark.parametrize("name", VIEWS)
def test_one_generator_decides(name: str) -> None:
    images = pixels(6, (3, 16, 16))
    see, before = view(name, images), torch.get_rng_state()
    first, again, other = (see(images, draws(6, seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert (name == "plain") == torch.equal(first, other)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("name", VIEWS)
def test_the_given_bytes_stay(name: str) -> None:
    images = pixels(6, (3, 16, 16))
    before = images.clone()
    view(name, images)(images, draws(6))
    assert torch.equal(images, before)


@pytest.mark.parametrize("name", ["weak", "strong", "randaugment"])
def test_two_calls_of_one_generator_differ(name: str) -> None:
    images, generator = pixels(6, (3, 16, 16)), Generator().manual_seed(0)
    see = view(name, images)
    assert not torch.equal(see(images, Draws(generator, 6)), see(images, Draws(generator, 6)))


@pytest.mark.parametrize("by", [1, 2, 4])
@pytest.mark.parametrize("flip", [True, False])
def test_a_shift_is_a_crop_of_the_reflected_image(by: int, flip: bool) -> None:
    images = pixels(40, (2, 7, 6)).float()
    padded = F.pad(images, (by,) * 4, mode="reflect")
    crops = [padded[:, :, i : i + 7, j : j + 6] for i in range(2 * by + 1) for j in range(2 * by + 1)]
    if flip:
        crops += [crop.flip(3) for crop in crops]
    moved = shift(images, draws(40), by=by, flip=flip)
    matches = torch.stack([(moved == crop).flatten(1).all(1) for crop in crops])
    assert matches.any(0).all()


def test_all_offsets_are_as_likely() -> None:
    ramp = torch.arange(9.0).expand(20_000, 1, 9, 9)
    centre = shift(ramp, draws(20_000), by=2, flip=False)[:, 0, 4, 4]
    assert centre.unique().tolist() == [2, 3, 4, 5, 6]
    share = centre.long().bincount()[2:] / 20_000
    assert ((share - 0.2).abs() < 0.015).all()  # five standard deviations


def test_half_of_the_images_are_mirrored() -> None:
    ramp = torch.arange(8.0).expand(10_000, 1, 1, 8)
    mirrored = shift(ramp, draws(10_000), by=0, flip=True)[:, 0, 0, 0] == 7
    assert abs(mirrored.float().mean().item() - 0.5) < 0.025


@pytest.mark.parametrize("name", ["standard", "weak"])
def test_without_flip_no_image_is_mirrored(name: str) -> None:
    ramp = (torch.arange(32) * 8).to(torch.uint8).expand(500, 1, 32, 32)
    out = view(name, ramp, flip=False, noise=0.0)(ramp, draws(500))
    assert (out[:, 0, 16, 20] > out[:, 0, 16, 12]).all()
    mirrored = view(name, ramp, flip=True, noise=0.0)(ramp, draws(500))
    assert (mirrored[:, 0, 16, 20] < mirrored[:, 0, 16, 12]).any()


def test_the_standard_view_moves_by_two_pixels_at_most() -> None:
    spot = torch.zeros(300, 1, 15, 15, dtype=torch.uint8)
    spot[:, :, 7, 7] = 255
    out = view("standard", spot, flip=False, noise=0.0)(spot, draws(300))
    rows, columns = (out[:, 0] > 0).nonzero()[:, 1:].T
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (5, 9, 5, 9)


def test_noise_has_its_deviation_and_belongs_to_the_standard_view_alone() -> None:
    grey = torch.full((200, 3, 16, 16), 127, dtype=torch.uint8)
    plain = view("plain", grey)(grey, draws(200))
    added = view("standard", grey, noise=0.15)(grey, draws(200)) - plain
    assert abs(added.std().item() - 0.15) < 1e-3
    assert abs(added.mean().item()) < 2e-3
    assert torch.allclose(view("standard", grey, noise=0.0)(grey, draws(200)), plain)
    assert torch.allclose(view("weak", grey, noise=0.15)(grey, draws(200)), plain)


@pytest.mark.parametrize("name", ["strong", "randaugment"])
def test_cutout_zeroes_up_to_a_quarter(name: str) -> None:
    images = torch.full((400, 3, 16, 16), 200, dtype=torch.uint8)
    out = view(name, images, normalize="symmetric")(images, draws(400))
    gone = (out == 0).all(1).flatten(1).float().mean(1)
    assert gone.max() <= 0.25
    assert 0.1 < gone.mean() < 0.25


def test_an_unknown_view_is_refused() -> None:
    with pytest.raises(InputError, match="choose one of plain, standard, weak, strong, randaugment"):
        view("heavy", pixels(1, (1, 8, 8)))

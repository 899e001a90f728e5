"""Normalisations, against NumPy and against what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from real_images import real
from torch import Generator, Tensor

from fewlabels.data.normalize import BLOCK, NORM, NORMALIZERS, Normalizer, fit
from fewlabels.errors import InputError


@pytest.fixture
def pixels() -> Tensor:
    return torch.randint(0, 256, (60, 3, 5, 4), generator=Generator().manual_seed(0), dtype=torch.uint8)


def test_symmetric_takes_bytes_to_minus_one_and_one() -> None:
    levels = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16)
    found = fit("symmetric", levels)(levels).flatten()
    assert torch.allclose(found, torch.linspace(-1, 1, 256), atol=1e-6)
    assert (found[0], found[-1]) == (-1.0, 1.0)


def test_standardize_leaves_each_channel_with_mean_0_and_deviation_1(pixels: Tensor) -> None:
    out = fit("standardize", pixels)(pixels)
    assert torch.allclose(out.mean((0, 2, 3)), torch.zeros(3), atol=1e-5)
    assert torch.allclose(out.std((0, 2, 3), correction=0), torch.ones(3), atol=1e-5)


def test_a_constant_channel_stays_at_zero(pixels: Tensor) -> None:
    pixels[:, 1] = 77
    assert torch.allclose(fit("standardize", pixels)(pixels)[:, 1], torch.zeros(60, 5, 4), atol=1e-6)


def test_gcn_is_what_numpy_computes(pixels: Tensor) -> None:
    rows = pixels.numpy().reshape(60, -1) / 255.0
    rows = rows - rows.mean(axis=1, keepdims=True)
    rows = 55.0 * math.sqrt(60 / 3072) * rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))
    assert np.allclose(fit("gcn", pixels)(pixels).reshape(60, -1).numpy(), rows, atol=1e-5)


@pytest.mark.real_data
def test_gcn_of_cifar_has_oliver_s_norm() -> None:
    pixels = real("cifar10").train.pixels[:100]
    norms = fit("gcn", pixels)(pixels).flatten(1).norm(dim=1)
    assert torch.allclose(norms, torch.full((100,), NORM), rtol=1e-5)


def test_gcn_forgets_brightness_and_contrast() -> None:
    dark = torch.randint(0, 100, (4, 1, 6, 6), generator=Generator().manual_seed(1), dtype=torch.uint8)
    out = fit("gcn", dark)
    assert torch.allclose(out(dark), out(dark * 2 + 30), atol=1e-4)


def test_an_image_without_contrast_becomes_zero() -> None:
    flat = torch.full((2, 3, 4, 4), 99, dtype=torch.uint8)
    assert torch.equal(fit("gcn", flat)(flat), torch.zeros(2, 3, 4, 4))


def test_zca_whitens() -> None:
    pixels = torch.randint(0, 256, (3000, 1, 4, 4), generator=Generator().manual_seed(0), dtype=torch.uint8)
    pixels[:, :, 1:] = pixels[:, :, :-1] // 2 + pixels[:, :, 1:] // 2  # neighbours are alike
    gcn, out = fit("gcn", pixels)(pixels).flatten(1), fit("gcn-zca", pixels)(pixels).flatten(1)
    values = torch.linalg.eigvalsh(gcn.T.cov())
    expected = (values / (values + 0.1)).clamp_min(0)  # what a ridge of 0.1 leaves of each direction
    assert torch.allclose(torch.linalg.eigvalsh(out.T.cov()), expected.sort().values, atol=1e-3)
    assert torch.allclose(out.mean(0), torch.zeros(16), atol=1e-4)
    off = out.T.cov() - out.T.cov().diag().diag()
    before = gcn.T.cov() - gcn.T.cov().diag().diag()
    assert off.abs().max() < 0.3 * before.abs().max()


def test_zca_is_symmetric_so_images_stay_images(pixels: Tensor) -> None:
    whiten = fit("gcn-zca", pixels).tensors["whiten"]
    assert torch.allclose(whiten, whiten.T, atol=1e-4)


def test_zca_of_large_images_is_refused() -> None:
    with pytest.raises(InputError, match="use gcn, or smaller images"):
        fit("gcn-zca", torch.zeros(1, 3, 64, 64, dtype=torch.uint8))


@pytest.mark.parametrize("name", NORMALIZERS)
def test_fitting_in_blocks_is_fitting_at_once(name: str, monkeypatch: pytest.MonkeyPatch, pixels: Tensor) -> None:
    assert len(pixels) < BLOCK
    whole = fit(name, pixels)
    monkeypatch.setattr("fewlabels.data.normalize.BLOCK", 7)
    parts = fit(name, pixels)
    assert torch.allclose(whole(pixels), parts(pixels), atol=1e-3)


@pytest.mark.parametrize("name", NORMALIZERS)
def test_a_stored_normalizer_is_the_same(name: str, pixels: Tensor) -> None:
    fitted = fit(name, pixels)
    again = Normalizer.from_state(name, fitted.state())
    assert torch.equal(again(pixels), fitted(pixels))
    assert torch.equal(again.to("cpu")(pixels), fitted(pixels))


@pytest.mark.parametrize("name", NORMALIZERS)
def test_each_image_is_normalised_by_itself(name: str, pixels: Tensor) -> None:
    fitted = fit(name, pixels)
    assert torch.allclose(fitted(pixels)[3:5], fitted(pixels[3:5]), atol=1e-6)


@pytest.mark.parametrize("name", NORMALIZERS)
def test_the_given_bytes_stay(name: str, pixels: Tensor) -> None:
    before = pixels.clone()
    fit(name, pixels)(pixels)
    assert torch.equal(before, pixels)


def test_an_unknown_name_and_no_image_are_refused(pixels: Tensor) -> None:
    with pytest.raises(InputError, match="choose one of symmetric, standardize, gcn, gcn-zca"):
        fit("whiten", pixels)
    with pytest.raises(InputError, match="needs at least one image"):
        fit("gcn", pixels[:0])

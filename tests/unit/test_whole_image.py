"""A whole image keeps its proportions: the size in patches, the preparation, and the resized model's numbers."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
import torch

import vitviz
from vitviz.config import CNNConfig, Preparation, SwinConfig, ViTConfig
from vitviz.data.image_preprocessing import prepare, seen_crop
from vitviz.models.whole_image import MOST_PATCHES, MOST_TIMES, explain_fixed_shape, fit_model, fit_size

VIT = ViTConfig(image_size=224, patch_size=14, embed_dim=24, depth=1, num_heads=3)


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((300, 451), (16, 24)),  # 16 patches of the shorter side, 16 * 451 / 300 = 24.05
        ((451, 300), (24, 16)),
        ((768, 1024), (16, 21)),
        ((500, 500), (16, 16)),
        ((33, 1000), (4, 125)),  # 2 * 256 patches in proportions of 1 to 30
    ],
)
def test_an_images_proportions_in_patches(shape: tuple[int, int], size: tuple[int, int]) -> None:
    fitted = fit_size(VIT, shape)
    assert fitted == (size[0] * 14 if size[0] == size[1] else (size[0] * 14, size[1] * 14))


@pytest.mark.parametrize("shape", [(1, 5000), (5000, 1), (640, 480), (1080, 1920), (7, 9)])
@pytest.mark.parametrize("side", [28, 224, 518])
def test_the_number_of_patches_is_bounded(shape: tuple[int, int], side: int) -> None:
    config = replace(VIT, image_size=side)
    grid = replace(config, image_size=fit_size(config, shape)).grid
    native = prod(config.grid)
    assert prod(grid) <= 1.1 * min(MOST_TIMES * native, max(MOST_PATCHES, native)) + max(grid)


def test_less_than_a_patch_is_cut_and_nothing_is_squeezed() -> None:
    photo = np.random.default_rng(0).integers(0, 256, (300, 451, 3), np.uint8)
    loaded = vitviz.load("cifar10_vit")
    size = fit_size(loaded.vit.config, (300, 451))
    assert size == (32, 48)
    fitted = fit_model(loaded, size)
    prepared = prepare(photo, fitted.preparation)
    assert prepared.input.shape == (3, 32, 48) and prepared.shown.shape == (32, 48, 3)
    top, left, height, width = prepared.box
    assert height / width == pytest.approx(32 / 48, rel=0.01)
    assert top == left == 0 and height == 300 and width == pytest.approx(451, abs=2)
    assert seen_crop(photo, fitted.preparation).shape == (300, 450, 3)


def test_a_fitted_model_computes_what_its_model_computes_at_that_size() -> None:
    loaded = vitviz.load("cifar10_vit")
    fitted = fit_model(loaded, (24, 56))
    x = torch.randn(1, 3, 24, 56, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(fitted.model(x), loaded.model(x))
    assert fitted.vit.config.grid == (6, 14) and fitted.digest != loaded.digest
    assert fit_model(loaded, 32).preparation.crop_fraction == 1


def test_an_inspected_whole_image_has_rows_and_columns() -> None:
    photo = np.random.default_rng(0).integers(0, 256, (300, 451, 3), np.uint8)
    view = vitviz.inspect("cifar10_vit", photo, whole_image=True)
    assert view.attention(0, 0, "cls").shape == (8, 12)
    assert vitviz.inspect("cifar10_vit", photo).attention(0, 0, "cls").shape == (8, 8)


@pytest.mark.parametrize(
    ("config", "preparation", "reason"),
    [
        (VIT, Preparation(224), ""),
        (SwinConfig(), Preparation(), "Only a ViT"),
        (CNNConfig(), Preparation(), "Only a ViT"),
        (ViTConfig(in_chans=1), Preparation(mean=(0.5,), std=(0.5,), digit=True), "whole drawing"),
        (ViTConfig(embed="reshape"), Preparation(), "rows of pixels"),
    ],
)
def test_what_has_a_fixed_shape_says_why(config: Any, preparation: Preparation, reason: str) -> None:
    assert reason in explain_fixed_shape(config, preparation)
    assert bool(reason) == bool(explain_fixed_shape(config, preparation))


def test_a_digit_model_refuses_a_whole_image() -> None:
    with pytest.raises(ValueError, match="whole_image does not fit .*: A model of digits"):
        vitviz.inspect("digits_vit", np.zeros((20, 40), np.uint8), whole_image=True)

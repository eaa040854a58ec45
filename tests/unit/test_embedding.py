"""A picture's way into a model, against the model itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vitviz.analysis.patches import embed as by_hand
from vitviz.analysis.patches import patchify
from vitviz.config import ModelConfig
from vitviz.models.presets import PRESETS, VIT_DIGITS
from vitviz.models.vit import VisionTransformer
from vitviz.models.zoo import create_model
from vitviz.probe import embedding


def values(config: ModelConfig) -> np.ndarray:
    shape = (getattr(config, "in_chans", 3), config.image_size, config.image_size)
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def vit(config: ModelConfig) -> VisionTransformer:
    model = create_model(config, seed=0).eval()
    assert isinstance(model, VisionTransformer)
    return model


@pytest.mark.parametrize("name", ["vit_digits", "deit_cifar10", "swin_digits", "recipe_d"])
def test_tokens_are_patches_times_e(name: str) -> None:
    config = PRESETS[name].config
    image = values(config)
    found = embedding.embed(create_model(config, seed=0).eval(), image)
    expected = by_hand(patchify(image, config.patch_size), found.weight, found.bias)
    np.testing.assert_allclose(found.convolved, expected, atol=1e-5)
    np.testing.assert_allclose(found.tokens, expected, atol=1e-5)
    assert list(found.prefix) == list(getattr(config, "prefix_tokens", ()))
    assert (found.table is None) == (name == "swin_digits")


def test_a_twin_without_positions_shares_its_weights_and_leaves_the_model_alone() -> None:
    model = vit(VIT_DIGITS)
    twin = embedding.without_positions(model)
    assert model.config == VIT_DIGITS and model.pos_embed is not None
    assert twin.config == replace(VIT_DIGITS, positions="none") and twin.pos_embed is None
    assert twin.block(0) is model.block(0)
    assert embedding.is_blind_twin(VIT_DIGITS, twin.config)
    assert not embedding.is_blind_twin(VIT_DIGITS, VIT_DIGITS)


def test_only_positions_notice_a_shuffle() -> None:
    model = vit(VIT_DIGITS)
    image, order = values(VIT_DIGITS), np.roll(np.arange(64), 1)
    seen = embedding.predict_shuffled(model, image, order)
    blind = embedding.predict_shuffled(embedding.without_positions(model), image, order)
    assert all(found.sum() == pytest.approx(1, abs=1e-5) for found in (*seen, *blind))
    assert np.abs(blind[0] - blind[1]).max() < 1e-6 < np.abs(seen[0] - seen[1]).max()


def test_another_size_is_a_shallow_model_of_the_same_width() -> None:
    found = embedding.of_other_size(VIT_DIGITS, 64, 8)
    assert (found.grid, found.embed_dim) == ((8, 8), VIT_DIGITS.embed_dim)
    assert found.depth <= embedding.STAND_IN_DEPTH

"""A model's own table of positions, as arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vitviz.analysis.position_similarity import encode
from vitviz.config import ViTConfig
from vitviz.models.presets import PRESETS, VIT_DIGITS
from vitviz.models.vit import VisionTransformer
from vitviz.models.zoo import create_model
from vitviz.probe import embedding


def vit(config: ViTConfig) -> VisionTransformer:
    model = create_model(config, seed=0)
    assert isinstance(model, VisionTransformer)
    return model


def test_the_patches_rows_of_what_is_added() -> None:
    learned = vit(VIT_DIGITS)
    assert learned.pos_embed is not None
    np.testing.assert_array_equal(
        embedding.read_position_table(learned), learned.pos_embed[0, 1:].detach().numpy()
    )
    waves = embedding.read_position_table(vit(replace(VIT_DIGITS, positions="sincos_2d_concat")))
    np.testing.assert_allclose(waves, encode("sincos_2d_concat", (8, 8), 64), atol=1e-6)
    assert not embedding.read_position_table(vit(replace(VIT_DIGITS, positions="none"))).any()


def test_positions_of_the_pixels_have_no_table() -> None:
    config = PRESETS["recipe_d"].config
    assert isinstance(config, ViTConfig)
    with pytest.raises(ValueError, match="a table for each image"):
        embedding.read_position_table(vit(config))


def test_a_stretched_table_keeps_its_corners_in_order() -> None:
    ramp = np.repeat(np.arange(4.0), 4)[:, None]  # row number of a 4 x 4 grid
    found = embedding.stretch_positions(ramp, (4, 4), (8, 8)).reshape(8, 8)
    assert found.shape == (8, 8) and (np.diff(found[:, 0]) > 0).all()
    np.testing.assert_allclose(found, found[:, :1].repeat(8, axis=1), atol=1e-5)
    np.testing.assert_allclose(embedding.stretch_positions(ramp, (4, 4), (4, 4)), ramp)

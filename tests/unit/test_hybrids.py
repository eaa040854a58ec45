"""Fields and the one token by hand; the open question's file holds what a small remake finds."""

from __future__ import annotations

import numpy as np
import torch

from pages.studies.study import list_studies
from tests.messages import unpack
from vitviz.analysis.receptive_fields import enlarging, stem_fields_px, stem_strides
from vitviz.config import ViTConfig
from vitviz.experiments import conv_attention
from vitviz.models import model_cost
from vitviz.models.lecture_nets import FlatAttention, FlatAttentionLayer
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model
from vitviz.plots import hybrids as plots
from vitviz.plots.photo import encode_photo

STEM = ViTConfig(stem=(4, 4, 4), patch_size=4, readout="mean")


def test_the_fields_by_hand() -> None:
    """3; 3 + 2; 5 + 2 * 2."""
    assert stem_fields_px(STEM) == [3, 5, 9] and stem_strides(STEM) == [1, 2, 2]


def test_an_image_that_is_enlarged_first_is_read_in_its_own_px() -> None:
    """28 px in patches of 7 become 32 px: 15 of those are 13 of the picture's."""
    config = ViTConfig(image_size=28, patch_size=7, in_chans=1, stem=(4, 4, 4, 4), readout="mean")
    fields = stem_fields_px(config)
    np.testing.assert_allclose(fields, [side * 28 / 32 for side in (3, 5, 9, 17)])
    assert enlarging(config) == 32 / 28 and enlarging(STEM) == 1


def test_a_channel_is_packed_on_its_own_scale_and_zero_stays_zero() -> None:
    maps = np.stack([np.full((8, 8), value, float) for value in (1, 2, 0)])
    maps[0, 0, 0] = 1e-4
    photo = encode_photo(np.zeros((32, 32, 3), np.uint8))
    arrays = np.zeros((64, 8)), np.zeros((64, 48))
    for strides in ((1, 2, 2), ()):
        header, packed = unpack(
            plots.pack_pipeline(photo, [maps], *arrays, STEM, pin=(0.5, 0.5), strides=strides)
        )
        assert header["levels"] == [{"order": [1, 0, 2], "most": [1.0, 2.0, 0.0]}]
        assert header["strides"] == list(strides)
    assert packed["maps0"][:, 4, 4].tolist() == [255, 255, 0] and packed["maps0"][0, 0, 0] == 1


def test_queries_and_keys_of_one_token_change_nothing() -> None:
    """The caption's numbers: logits are equal with queries and keys 100 times as long, of which those are so many."""
    model = create_model(PRESETS["recipe_e"].config, seed=0).eval().requires_grad_(False)
    assert isinstance(model, FlatAttention)
    x = torch.rand(2, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    logits, record = model(x, record=("blocks.*.attn", "blocks.*.scores"))
    idle = 0
    for layer in model.blocks:
        assert isinstance(layer, FlatAttentionLayer)
        width = layer.qkv.in_features
        layer.qkv.weight[: 2 * width] *= 100
        layer.qkv.bias[: 2 * width] *= -100
        idle += 2 * width * (width + 1)
    assert torch.equal(model(x), logits)
    assert (record["blocks.0.attn"] == 1).all() and (record["blocks.1.attn"] == 1).all()
    assert record["blocks.0.scores"].abs().max() > 0
    parameters = sum(model_cost.parameters(model.config).values())
    share = f"{idle:,} of {parameters:,} parameters ({100 * idle / parameters:.1f} %)"
    assert share in list_studies()["one_token"].views[0].caption


def test_every_net_of_the_question_is_about_as_large() -> None:
    sizes = {
        name: sum(model_cost.parameters(model).values()) for name, model in conv_attention.MODELS.items()
    }
    assert max(sizes.values()) < 1.1 * min(sizes.values())
    assert set(conv_attention.TITLES) == set(conv_attention.MODELS)

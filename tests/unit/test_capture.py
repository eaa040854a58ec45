"""From models to arrays: the same numbers in batches, streamed where they are large, nothing shared."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vitviz.config import CNNConfig, SwinConfig, ViTConfig
from vitviz.models.zoo import create_model
from vitviz.probe.capture import capture, stream_attention

VIT = ViTConfig(image_size=16, patch_size=4, embed_dim=24, depth=3, num_heads=3)
IMAGES = np.random.default_rng(0).normal(size=(5, 3, 16, 16)).astype(np.float32)


def test_batches_are_joined_and_shared_tables_kept_once() -> None:
    model = create_model(VIT, seed=0).eval()
    whole, parts = capture(model, IMAGES), capture(model, IMAGES, batch_size=2)
    assert whole.arrays.keys() == parts.arrays.keys()
    for name, array in whole.arrays.items():
        assert array.dtype == np.float32
        np.testing.assert_allclose(parts[name], array, atol=1e-5)
    assert parts["pos_embed"].shape == (1, 17, 24)
    assert parts.attention().shape == (3, 5, 3, 17, 17)
    assert parts.layout is not None
    assert parts.layout.grid == (4, 4)
    np.testing.assert_allclose(parts.logits, model(torch.tensor(IMAGES)).detach().numpy(), atol=1e-5)


def test_swins_bookkeeping_stays_integer_and_is_kept_once() -> None:
    model = create_model(SwinConfig(image_size=16, embed_dim=12, depths=(2,), num_heads=(3,)), seed=0).eval()
    captured = capture(model, IMAGES, ["*.window_index", "*.mask", "*.attn"], batch_size=2)
    assert captured["layers.0.blocks.1.window_index"].dtype == np.int64
    assert captured["layers.0.blocks.1.window_index"].shape == (4, 16)
    assert captured["layers.0.blocks.1.mask"].shape == (4, 16, 16)
    assert captured["layers.0.blocks.1.attn"].shape == (5, 4, 3, 16, 16)


def test_streaming_gives_the_same_attention_and_keeps_none() -> None:
    model = create_model(VIT, seed=0).eval()
    seen: dict[int, list[np.ndarray]] = {}
    logits = stream_attention(model, IMAGES, lambda layer, attn: seen.setdefault(layer, []).append(attn), 2)
    expected = capture(model, IMAGES, ["*.attn"])
    np.testing.assert_allclose(logits, expected.logits, atol=1e-5)
    for layer, attn in enumerate(expected.attention()):
        np.testing.assert_allclose(np.concatenate(seen[layer]), attn, atol=1e-5)


def test_masks_reach_the_model() -> None:
    model = create_model(VIT, seed=0).eval()
    kept = torch.ones(16, dtype=torch.bool)
    kept[3] = False
    assert (capture(model, IMAGES, ["*.attn"], token_mask=kept).attention()[..., 4] == 0).all()


def test_a_model_without_attention_gives_feature_maps() -> None:
    model = create_model(CNNConfig(image_size=16, widths=(4,), blocks=(1,)), seed=0).eval()
    captured = capture(model, IMAGES, ["layers.*"])
    assert captured["layers.0.blocks.0"].shape == (5, 4, 16, 16)
    with pytest.raises(ValueError, match="no block's attention was recorded; recorded: layers.0.blocks.0"):
        captured.attention()

"""ViT against torchvision with the same random weights."""

from __future__ import annotations

import parity_peers as peers
import pytest
import torch
from parity_compare import FORWARD, check_gradients, shake
from torch import Tensor, nn

import vitviz
from vitviz.config import ViTConfig
from vitviz.models.formats import torchvision
from vitviz.models.zoo import create_model


def attention_of(model: nn.Module, x: Tensor) -> list[Tensor]:
    """Every layer's attention, by asking torch's own MultiheadAttention for its weights."""
    tokens = model._process_input(x)
    z = torch.cat([model.class_token.expand(len(x), -1, -1), tokens], dim=1) + model.encoder.pos_embedding
    attention = []
    for layer in model.encoder.layers:
        normed = layer.ln_1(z)
        attention.append(
            layer.self_attention(normed, normed, normed, need_weights=True, average_attn_weights=False)[1]
        )
        z = layer(z)
    return attention


@pytest.mark.parametrize("seed", range(4))
def test_vit_equals_torchvision(seed: int) -> None:
    patch, heads, depth = (4, 8, 4, 7)[seed], (1, 2, 3, 4)[seed], (2, 1, 3, 2)[seed]
    config = ViTConfig(
        image_size=patch * 3,
        patch_size=patch,
        num_classes=6,
        embed_dim=8 * heads,
        depth=depth,
        num_heads=heads,
        mlp_ratio=3.0,
    )
    theirs = shake(
        peers.TorchvisionViT(
            image_size=config.image_size,
            patch_size=patch,
            num_layers=depth,
            num_heads=heads,
            hidden_dim=config.embed_dim,
            mlp_dim=3 * config.embed_dim,
            num_classes=6,
        ),
        seed,
    )
    ours = create_model(config).eval()
    ours.load_state_dict(torchvision.translate_vit(theirs.state_dict()))
    x = torch.randn(2, 3, config.image_size, config.image_size)
    logits, record = ours(x, record=["*.attn"])
    torch.testing.assert_close(logits, theirs(x), **FORWARD)
    for layer, attn in enumerate(attention_of(theirs, x)):
        torch.testing.assert_close(record[f"blocks.{layer}.attn"], attn, **FORWARD)
    check_gradients(ours, theirs, x, torchvision.translate_vit)


@pytest.mark.parametrize("side", [24, 72])
def test_resized_positions_equal_torchvisions(side: int) -> None:
    shape = {
        "patch_size": 8,
        "num_layers": 2,
        "num_heads": 2,
        "hidden_dim": 16,
        "mlp_dim": 32,
        "num_classes": 5,
    }
    theirs = shake(peers.TorchvisionViT(image_size=48, **shape), 0)
    resized = peers.TorchvisionViT(image_size=side, **shape).eval()
    state = peers.interpolate_embeddings(side, 8, dict(theirs.state_dict()))
    resized.load_state_dict(state)
    ours = vitviz.load(theirs.state_dict(), img_size=side, num_heads=2)
    x = torch.randn(2, 3, side, side)
    torch.testing.assert_close(ours.model(x), resized(x), **FORWARD)
    # The same table at run time, without a new size at loading.
    table = vitviz.load(theirs.state_dict(), num_heads=2).vit.position_table((side // 8, side // 8))
    torch.testing.assert_close(table, state["encoder.pos_embedding"], rtol=0, atol=1e-6)

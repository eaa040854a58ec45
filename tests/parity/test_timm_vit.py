"""ViT and DeiT against timm with the same random weights, at sizes and seeds drawn at random."""

from __future__ import annotations

import random
from typing import Any

import parity_peers as peers
import pytest
import torch
from parity_compare import FORWARD, check_gradients, explicit, shake, softmax_outputs
from torch import nn

from vitviz.config import ViTConfig
from vitviz.models.zoo import create_model


def drawn(seed: int) -> tuple[ViTConfig, dict[str, Any]]:
    """A random config, and timm's arguments for it."""
    draw = random.Random(seed)
    patch, rows, heads = draw.choice([2, 4, 7]), draw.choice([2, 3, 5]), draw.choice([1, 2, 3])
    shared: dict[str, Any] = {
        "patch_size": patch,
        "in_chans": draw.choice([1, 3]),
        "num_classes": draw.choice([2, 10]),
        "embed_dim": heads * draw.choice([4, 8]),
        "depth": draw.choice([1, 3]),
        "num_heads": heads,
        "mlp_ratio": draw.choice([1.0, 2.5, 4.0]),
        "qkv_bias": draw.choice([True, False]),
    }
    registers, scale = draw.choice([0, 0, 4]), draw.choice([None, 0.1])
    readout, activation = draw.choice(["cls", "cls", "mean"]), draw.choice(["gelu", "relu", "silu"])
    on_prefix = draw.choice([True, False])
    ours = ViTConfig(
        image_size=patch * rows,
        num_registers=registers,
        layer_scale=scale,
        readout=readout,
        activation=activation,
        position_on_prefix=on_prefix,
        **shared,
    )
    theirs = shared | {
        "img_size": patch * rows,
        "reg_tokens": registers,
        "init_values": scale,
        "global_pool": "token" if readout == "cls" else "avg",
        "class_token": readout == "cls",
        "fc_norm": False,  # timm normalises after the mean by default; the ViT paper before
        "act_layer": {"gelu": nn.GELU, "relu": nn.ReLU, "silu": nn.SiLU}[activation],
        "no_embed_class": not on_prefix,
    }
    return ours, theirs


def compare(ours: nn.Module, theirs: nn.Module, x: torch.Tensor, depth: int) -> None:
    attention = softmax_outputs(explicit(theirs), lambda name, _: name.endswith("attn.attn_drop"))
    expected = theirs(x)
    logits, record = ours(x, record=True)
    torch.testing.assert_close(logits, expected, **FORWARD)
    assert len(attention) == depth
    for layer, attn in enumerate(attention):
        torch.testing.assert_close(record[f"blocks.{layer}.attn"], attn, **FORWARD)


@pytest.mark.parametrize("seed", range(14))
def test_vit_equals_timm(seed: int) -> None:
    config, arguments = drawn(seed)
    theirs = shake(peers.TimmViT(**arguments), seed)
    ours = create_model(config).eval()
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(3, config.in_chans, config.image_size, config.image_size)
    compare(ours, theirs, x, config.depth)
    check_gradients(ours, theirs, x, lambda gradients: gradients)


@pytest.mark.parametrize("seed", range(3))
def test_distilled_deit_equals_timm(seed: int) -> None:
    shared: dict[str, Any] = {
        "patch_size": 4,
        "num_classes": 5,
        "embed_dim": 16,
        "depth": 2,
        "num_heads": 1 + seed % 2,
    }
    theirs = shake(peers.TimmDistilled(img_size=12, **shared), seed)
    ours = create_model(ViTConfig(image_size=12, **shared, distilled=True)).eval()
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 3, 12, 12)
    compare(ours, theirs, x, 2)
    check_gradients(ours, theirs, x, lambda gradients: gradients)
    theirs.set_distilled_training(True)
    both = theirs.train()(x)
    _, record = ours(x, record=["logits_*"])
    torch.testing.assert_close(record["logits_cls"], both[0], **FORWARD)
    torch.testing.assert_close(record["logits_dist"], both[1], **FORWARD)


@pytest.mark.parametrize("side", [8, 16, 28])
@pytest.mark.parametrize("on_prefix", [True, False])
def test_positions_are_resized_as_timm_resizes_them(side: int, on_prefix: bool) -> None:
    shared: dict[str, Any] = {"patch_size": 4, "num_classes": 3, "embed_dim": 8, "depth": 1, "num_heads": 2}
    theirs = shake(
        peers.TimmViT(img_size=20, no_embed_class=not on_prefix, dynamic_img_size=True, **shared), side
    )
    ours = create_model(ViTConfig(image_size=20, position_on_prefix=on_prefix, **shared)).eval()
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 3, side, 12)
    torch.testing.assert_close(ours(x), theirs(x), **FORWARD)

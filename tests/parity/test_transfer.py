"""Positions stretched as timm and torchvision do it, and layers slowed down as timm does it."""

from __future__ import annotations

import parity_peers as peers
import pytest
import torch
from parity_compare import FORWARD, shake

import vitviz
from vitviz.config import TrainConfig, ViTConfig
from vitviz.models.vit import VisionTransformer, resize_positions
from vitviz.training.optimizers import rate_scales


@pytest.mark.parametrize(
    ("old", "new", "prefix"),
    [
        ((14, 14), (24, 24), 1),
        ((8, 8), (5, 5), 2),
        ((7, 7), (8, 12), 0),
        ((2, 3), (2, 3), 0),
        ((2, 3), (4, 3), 0),
        ((2, 3), (5, 4), 1),
    ],
)
def test_positions_are_stretched_as_timm_stretches_them(
    old: tuple[int, int], new: tuple[int, int], prefix: int
) -> None:
    table = torch.randn(1, prefix + old[0] * old[1], 48)
    theirs = peers.resample_abs_pos_embed(
        table, new_size=list(new), old_size=list(old), num_prefix_tokens=prefix
    )
    torch.testing.assert_close(resize_positions(table, old, new), theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("side", [24, 72])
def test_positions_are_stretched_as_torchvision_stretches_them(side: int) -> None:
    shape = (8, 2, 2, 16, 32)  # patch size, layers, heads, width, width of the MLP
    theirs = shake(peers.TorchvisionViT(48, *shape, num_classes=5), 0)
    resized = peers.TorchvisionViT(side, *shape, num_classes=5).eval()
    state = peers.interpolate_embeddings(side, 8, dict(theirs.state_dict()))
    resized.load_state_dict(state)
    x = torch.randn(2, 3, side, side)
    for size in (side, 48):  # resized when it is loaded, and in every forward pass
        ours = vitviz.load(theirs.state_dict(), img_size=size, num_heads=2)
        torch.testing.assert_close(ours.model(x), resized(x), **FORWARD)


def test_each_layer_learns_at_the_share_that_timm_gives_it() -> None:
    theirs = peers.timm.create_model("vit_tiny_patch16_224", depth=3, num_classes=5)
    groups = peers.param_groups_layer_decay(theirs, weight_decay=0.05, layer_decay=0.7)
    shares = {id(p): group["lr_scale"] for group in groups for p in group["params"]}
    wanted = {name: shares[id(p)] for name, p in theirs.named_parameters()}

    ours = VisionTransformer(
        ViTConfig(image_size=224, patch_size=16, embed_dim=192, depth=3, num_heads=3, num_classes=5)
    )
    names = [name for name, _ in ours.named_parameters()]
    scale = rate_scales(TrainConfig(layer_decay=0.7), names)
    assert {name: scale(name) for name in names} == pytest.approx(wanted)

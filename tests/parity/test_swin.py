"""Swin against timm and torchvision with the same random weights, shifted, masked and padded."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import parity_peers as peers
import pytest
import torch
import torch.nn.functional as F
from parity_compare import FORWARD, check_gradients, explicit, shake, softmax_outputs
from torch import Tensor

from vitviz.config import SwinConfig
from vitviz.models.formats import torchvision
from vitviz.models.formats.safetensors_header import COMPUTED
from vitviz.models.zoo import create_model


def drawn(seed: int) -> SwinConfig:
    """A random config; every second block is shifted where the grid allows."""
    draw = random.Random(seed)
    window, patch_size = draw.choice([2, 3, 4]), draw.choice([1, 2, 4])
    depths = draw.choice([(2, 2), (2, 3, 2), (4,)])
    return SwinConfig(
        image_size=4 * window * patch_size,
        patch_size=patch_size,
        in_chans=draw.choice([1, 3]),
        num_classes=draw.choice([2, 7]),
        embed_dim=12,
        depths=depths,
        num_heads=(2, 3, 4)[: len(depths)],
        window_size=window,
        mlp_ratio=draw.choice([1.0, 2.5]),
        qkv_bias=draw.choice([True, False]),
    )


def from_timm(config: SwinConfig, seed: int) -> peers.TimmSwin:
    same = (
        "patch_size",
        "in_chans",
        "num_classes",
        "embed_dim",
        "depths",
        "num_heads",
        "window_size",
        "mlp_ratio",
    )
    shape = {name: getattr(config, name) for name in (*same, "qkv_bias")}
    return shake(peers.TimmSwin(img_size=config.image_size, strict_img_size=False, **shape), seed)


def from_torchvision(config: SwinConfig, seed: int) -> peers.TorchvisionSwin:
    return shake(
        peers.TorchvisionSwin(
            patch_size=[config.patch_size] * 2,
            embed_dim=config.embed_dim,
            depths=list(config.depths),
            num_heads=list(config.num_heads),
            window_size=[config.window_size] * 2,
            mlp_ratio=config.mlp_ratio,
            num_classes=config.num_classes,
        ),
        seed,
    )


def translate(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """torchvision's names to ours."""
    return torchvision.translate_swin({name: t for name, t in state.items() if not name.endswith(COMPUTED)})


def check_attention(record: dict[str, Tensor], theirs: list[Tensor], batch: int) -> None:
    """Blocks in order of depth; the other side folds the windows into the batch."""
    ours = [tensor for name, tensor in record.items() if name.endswith(".attn")]
    assert len(ours) == len(theirs)
    for attn, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(attn, expected.unflatten(0, (batch, -1)), **FORWARD)


def compare_with_timm(config: SwinConfig, size: tuple[int, int], seed: int) -> None:
    theirs = from_timm(config, seed)
    ours = create_model(config).eval()
    ours.load_state_dict(theirs.state_dict())
    attention = softmax_outputs(explicit(theirs), lambda name, _: name.endswith("attn.attn_drop"))
    x = torch.randn(2, config.in_chans, *size)
    logits, record = ours(x, record=True)
    torch.testing.assert_close(logits, theirs(x), **FORWARD)
    check_attention(record, attention, 2)
    check_gradients(ours, theirs, x, lambda gradients: gradients)


@pytest.mark.parametrize("convention", ["timm", "torchvision"])
@pytest.mark.parametrize("seed", range(6))
def test_swin_equals_timm_where_windows_tile(seed: int, convention: Any) -> None:
    config = drawn(seed)
    if convention == "torchvision":  # in the last stages the window covers the grid: timm may shrink it
        config = replace(config, depths=config.depths[:2], num_heads=config.num_heads[:2])
    compare_with_timm(replace(config, convention=convention), (config.image_size,) * 2, seed)


@pytest.mark.parametrize("size", [(20, 20), (14, 26), (10, 34)])
def test_swin_equals_timm_on_sizes_that_windows_do_not_tile(size: tuple[int, int]) -> None:
    config = SwinConfig(
        image_size=24,
        patch_size=2,
        embed_dim=12,
        depths=(2, 2),
        num_heads=(2, 3),
        window_size=4,
        convention="timm",
    )
    compare_with_timm(config, size, seed=sum(size))


@pytest.mark.parametrize("size", [(16, 16), (20, 20), (14, 27), (9, 34), (5, 16), (33, 33)])
@pytest.mark.parametrize("seed", range(2))
def test_swin_equals_torchvision_on_any_size(size: tuple[int, int], seed: int) -> None:
    depths = ((2, 2), (2, 2, 2))[seed]
    config = SwinConfig(
        image_size=32,
        patch_size=2,
        num_classes=6,
        embed_dim=12,
        depths=depths,
        num_heads=(2, 3, 4)[: len(depths)],
        window_size=(4, 3)[seed],
        mlp_ratio=2.0,
    )
    theirs = from_torchvision(config, seed + size[1])
    ours = create_model(config).eval()
    ours.load_state_dict(translate(theirs.state_dict()))
    attention: list[Tensor] = []
    softmax = F.softmax

    def watched(*args: Any, **named: Any) -> Tensor:
        attention.append(softmax(*args, **named))
        return attention[-1]

    x = torch.randn(2, 3, *size)
    with patch("torchvision.models.swin_transformer.F.softmax", watched):
        expected = theirs(x)
    logits, record = ours(x, record=True)
    torch.testing.assert_close(logits, expected, **FORWARD)
    check_attention(record, attention, 2)
    check_gradients(ours, theirs, x, translate)


def test_without_the_mask_wrapped_patches_would_attend_to_each_other() -> None:
    """The omission that is common: the same weights without masks give other logits than timm's."""
    config = SwinConfig(image_size=32, patch_size=2, embed_dim=12, depths=(2,), num_heads=(2,), window_size=4)
    theirs = from_timm(config, seed=0)
    ours = create_model(config).eval()
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(ours(x), theirs(x), **FORWARD)
    block = ours.layers[0].blocks[1]
    plan = block.plan((16, 16))
    assert plan.mask is not None
    with patch.object(block, "plan", lambda grid: replace(plan, mask=None)):
        with pytest.raises(AssertionError, match="not close"):
            torch.testing.assert_close(ours(x), theirs(x), **FORWARD)

"""Swin against timm and torchvision on images that its windows do not tile, and without its mask."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import parity_peers as peers
import pytest
import torch
from parity_compare import shake
from test_formats import check_equal, close
from torch import nn

import vitviz
from vitviz.models.loaded_model import LoadedModel


def build_timm(**shape: Any) -> nn.Module:
    return shake(peers.TimmSwin(img_size=32, patch_size=2, strict_img_size=False, **shape), 1)


def build_torchvision(**shape: Any) -> nn.Module:
    lists = {name: list(shape.pop(name)) for name in ("depths", "num_heads")}
    return shake(
        peers.TorchvisionSwin([2, 2], window_size=[shape.pop("window_size")] * 2, **lists, **shape), 1
    )


def load(theirs: nn.Module) -> LoadedModel:
    return vitviz.load(theirs.state_dict(), img_size=32)


@pytest.mark.parametrize(
    ("build", "size"),
    [
        *((build_timm, size) for size in ((20, 20), (14, 26), (10, 34))),
        *((build_torchvision, size) for size in ((16, 16), (20, 20), (14, 27), (9, 34), (5, 16), (33, 33))),
    ],
)
@pytest.mark.parametrize(("window", "depths"), [(4, (2, 2)), (3, (2, 2, 2))])
def test_a_swin_runs_on_images_that_windows_do_not_tile(
    build: Any, size: tuple[int, int], window: int, depths: tuple[int, ...]
) -> None:
    heads = (2, 3, 4)[: len(depths)]
    theirs = build(
        embed_dim=12, depths=depths, num_heads=heads, window_size=window, num_classes=6, mlp_ratio=2.0
    )
    check_equal(load(theirs).model, theirs, theirs, torch.randn(2, 3, *size))


def test_without_the_mask_wrapped_patches_would_attend_to_each_other() -> None:
    """The omission that is common: the same weights without masks give other logits than timm's."""
    theirs = build_timm(embed_dim=12, depths=(2,), num_heads=(2,), window_size=4)
    ours, x = load(theirs).model, torch.randn(2, 3, 32, 32)
    close(ours(x), theirs(x).detach())
    block = ours.layers[0].blocks[1]
    plan = block.plan((16, 16))
    assert plan.mask is not None
    with patch.object(block, "plan", lambda grid: replace(plan, mask=None)):
        with pytest.raises(AssertionError, match="not close"):
            close(ours(x), theirs(x).detach())

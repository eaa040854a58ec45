"""Receptive fields: kernels and strides by hand, and against the pixels that a real gradient reaches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vitviz.analysis.receptive_fields import cnn_layers, receptive_fields_px
from vitviz.config import CNNConfig, SwinConfig
from vitviz.models.zoo import create_model
from vitviz.probe.receptive_field import gradient_maps, mean_reach_px


def test_kernels_and_strides_by_hand() -> None:
    # 3x3, 3x3 with stride 2, 3x3: 3, then 3 + 2 = 5, then 5 + 2 * 2 = 9.
    assert receptive_fields_px([(3, 1), (3, 2), (3, 1)]) == [3, 5, 9]


@pytest.mark.parametrize(
    ("blocks", "pooled"), [((1, 1), False), ((2, 1), False), ((0, 1), True), ((1, 2), True)]
)
def test_a_cnns_receptive_field_is_what_its_gradient_reaches(blocks: tuple[int, int], pooled: bool) -> None:
    config = CNNConfig(image_size=48, in_chans=1, widths=(4, 4), blocks=blocks, pooled=pooled)
    model = create_model(config, seed=0).eval().requires_grad_(False)
    names, sides = cnn_layers(config)
    images = np.random.default_rng(0).normal(size=(3, 1, 48, 48)).astype(np.float32)
    maps = gradient_maps(model, images, names)
    for name, side in zip(names, sides, strict=True):
        map_, _ = maps[name]
        rows, cols = (np.flatnonzero(map_.any(axis=axis)) for axis in (1, 0))
        assert (np.ptp(rows) + 1, np.ptp(cols) + 1) == (side, side), name


def test_mean_reach_by_hand() -> None:
    map_ = np.zeros((4, 4))
    map_[2, 2] = 0.5  # the centre of a 4 x 4 map, pixel for pixel
    map_[2, 0] = 0.5  # two pixels to its left
    assert mean_reach_px(map_, (4, 4)) == pytest.approx(1.0)


def test_a_swins_first_block_reads_its_window_only() -> None:
    config = SwinConfig(image_size=16, patch_size=2, embed_dim=8, depths=(2,), num_heads=(2,), window_size=4)
    model = create_model(config, seed=0).eval().requires_grad_(False)
    images = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(0)).numpy()
    maps = gradient_maps(model, images, ["layers.0.blocks.0", "layers.0.blocks.1"])
    first, second = (maps[name][0] for name in ("layers.0.blocks.0", "layers.0.blocks.1"))
    assert not first[:8].any() and not first[:, :8].any() and (first[8:, 8:] > 0).all()
    assert (second > 0).sum() > (first > 0).sum()


def test_sequences_are_refused() -> None:
    from vitviz.config import ViTConfig

    model = create_model(ViTConfig(depth=1), seed=0).eval()
    with pytest.raises(ValueError, match=r"must be a feature map, received shape \(1, 65, 96\)"):
        gradient_maps(model, np.zeros((1, 3, 32, 32), np.float32), ["blocks.0"])

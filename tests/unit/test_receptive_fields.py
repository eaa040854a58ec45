"""Receptive fields: kernels and strides by hand, and against the pixels that a real gradient reaches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vitviz.analysis.receptive_fields import Field, block_fields
from vitviz.config import CNNConfig, SwinConfig
from vitviz.models.zoo import create_model
from vitviz.probe.gradients import image_gradient_maps, mean_reach_px

SIDE_PX = 128


@pytest.mark.parametrize(
    "config",
    [
        CNNConfig(widths=(4, 6, 6), blocks=(1, 1, 1)),
        CNNConfig(widths=(4, 6, 6), blocks=(2, 1, 2)),
        CNNConfig(widths=(4, 6, 6), blocks=(0, 1, 1), pooled=True),
    ],
    ids=["residual", "more blocks", "pooled"],
)
def test_the_field_is_where_gradients_are(config: CNNConfig) -> None:
    model = create_model(config, seed=0).eval()
    fields = block_fields(config)
    # A maximum passes the gradient of one of its four pixels: many images together show them all.
    images = np.random.default_rng(0).normal(size=(24, 3, SIDE_PX, SIDE_PX)).astype(np.float32)
    maps = image_gradient_maps(model.requires_grad_(False), images, list(fields))
    for name, field in fields.items():
        reached, (rows, cols) = maps[name]
        seen_rows, seen_cols = (np.flatnonzero(reached.sum(axis=axis)) for axis in ((0, 2), (0, 1)))
        top, left, side = field.box(rows // 2, cols // 2, SIDE_PX)
        assert (seen_rows[0], seen_cols[0]) == (top, left), name
        assert (seen_rows[-1] + 1, seen_cols[-1] + 1) == (top + side, left + side), name


def test_by_hand() -> None:
    assert Field().apply_layer(3, 2, 1) == Field(3, 2, 0.0)
    assert Field().apply_layer(2, 2, 0) == Field(2, 2, 0.5)
    pooled = block_fields(CNNConfig(widths=(24, 64, 192, 256), blocks=(0, 1, 1, 1), pooled=True))
    assert [(f.side_px, f.step_px) for f in pooled.values()] == [(3, 1), (10, 2), (24, 4), (52, 8)]
    whitened = block_fields(CNNConfig(widths=(24, 6, 6), blocks=(0, 1, 1), pooled=True, whitened=True))
    assert [(f.side_px, f.step_px, f.first_px) for f in whitened.values()] == [
        (2, 1, 0.5),
        (9, 2, 1.0),
        (23, 4, 2.0),
    ]


def test_a_field_stays_inside_the_image() -> None:
    field = Field(10, 2, 0.5)
    assert field.box(0, 15, 32) == (0, 22, 10)
    assert field.box(5, 5, 32) == (6, 6, 10)
    assert Field(52, 8, 3.5).box(3, 0, 32) == (0, 0, 32)


def test_mean_reach_by_hand() -> None:
    map_ = np.zeros((4, 4))
    map_[2, 2] = 0.5  # the centre of a 4 x 4 map, pixel for pixel
    map_[2, 0] = 0.5  # two pixels to its left
    assert mean_reach_px(map_, (4, 4)) == pytest.approx(1.0)


def test_a_swins_first_block_reads_its_window_only() -> None:
    config = SwinConfig(image_size=16, patch_size=2, embed_dim=8, depths=(2,), num_heads=(2,), window_size=4)
    model = create_model(config, seed=0).eval().requires_grad_(False)
    images = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(0)).numpy()
    maps = image_gradient_maps(model, images, ["layers.0.blocks.0", "layers.0.blocks.1"])
    first, second = (maps[name][0].mean(axis=0) for name in ("layers.0.blocks.0", "layers.0.blocks.1"))
    assert not first[:8].any() and not first[:, :8].any() and (first[8:, 8:] > 0).all()
    assert (second > 0).sum() > (first > 0).sum()

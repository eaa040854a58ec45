"""The receptive field by arithmetic is the square in which gradients are not zero."""

from __future__ import annotations

import numpy as np
import pytest

from vitviz.analysis.kernel_fields import Field, block_fields
from vitviz.config import CNNConfig
from vitviz.models.zoo import create_model
from vitviz.probe.receptive_field import gradient_maps

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
    names = ["stem", *(f"layers.{s}.blocks.{b}" for s, n in enumerate(config.blocks) for b in range(n))]
    # A maximum passes the gradient of one of its four pixels: many pictures together show them all.
    images = np.random.default_rng(0).normal(size=(24, 3, SIDE_PX, SIDE_PX)).astype(np.float32)
    maps = gradient_maps(model.requires_grad_(False), images, names)
    for name, field in zip(names, block_fields(config), strict=True):
        found, (rows, cols) = maps[name]
        seen_rows, seen_cols = (np.flatnonzero(found.sum(axis=axis)) for axis in (1, 0))
        top, left, side = field.box(rows // 2, cols // 2, SIDE_PX)
        assert (seen_rows[0], seen_cols[0]) == (top, left), name
        assert (seen_rows[-1] + 1, seen_cols[-1] + 1) == (top + side, left + side), name


def test_by_hand() -> None:
    assert Field().apply_layer(3, 2, 1) == Field(3, 2, 0.0)
    assert Field().apply_layer(2, 2, 0) == Field(2, 2, 0.5)
    pooled = block_fields(CNNConfig(widths=(24, 64, 192, 256), blocks=(0, 1, 1, 1), pooled=True))
    assert [(f.side_px, f.step_px) for f in pooled] == [(3, 1), (10, 2), (24, 4), (52, 8)]


def test_a_field_stays_inside_the_picture() -> None:
    field = Field(10, 2, 0.5)
    assert field.box(0, 15, 32) == (0, 22, 10)
    assert field.box(5, 5, 32) == (6, 6, 10)
    assert Field(52, 8, 3.5).box(3, 0, 32) == (0, 0, 32)

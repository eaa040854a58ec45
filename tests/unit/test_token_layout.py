"""Layers in order of depth: heads and tokens of a ViT and of a Swin."""

import pytest

from vitviz.config import CNNConfig, SwinConfig, ViTConfig
from vitviz.models.token_layout import StagePlace, TokenLayout, heads_by_layer, layout_of_layer, stage_of

VIT = ViTConfig(image_size=32, patch_size=8, embed_dim=24, depth=3, num_heads=2)
SWIN = SwinConfig(image_size=28, patch_size=4, depths=(2, 1), num_heads=(3, 6))


def test_heads_of_every_layer() -> None:
    assert heads_by_layer(VIT) == (2, 2, 2)
    assert heads_by_layer(SWIN) == (3, 3, 6)
    with pytest.raises(TypeError, match="received a CNNConfig"):
        heads_by_layer(CNNConfig())


def test_a_layer_of_a_swin_has_a_stage() -> None:
    assert [stage_of(SWIN, layer) for layer in (1, 2, 3)] == [
        StagePlace(0, 0, 0),
        StagePlace(0, 1, 0),
        StagePlace(1, 0, 2),
    ]
    for layer in (0, 4):
        with pytest.raises(ValueError, match=f"1..3, received {layer}"):
            stage_of(SWIN, layer)


def test_a_swins_grid_halves_and_rounds_up() -> None:
    first = TokenLayout((), (7, 7), 4)
    assert layout_of_layer(SWIN, first, 2) == first
    assert layout_of_layer(SWIN, first, 3) == TokenLayout((), (4, 4), 8)
    sequence = TokenLayout(("cls",), (4, 4), 8)
    assert layout_of_layer(VIT, sequence, 3) is sequence

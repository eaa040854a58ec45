"""Closed forms against the counted models, and one layer by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import counted_costs
from vitviz.checkpoint_header import read_header
from vitviz.config import SwinConfig, ViTConfig
from vitviz.models import model_cost
from vitviz.models.presets import PRESETS
from vitviz.models.pretrained_list import PRETRAINED

SHIPPED = sorted((Path(__file__).resolve().parents[2] / "checkpoints").glob("*.safetensors"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_counted_right(name: str) -> None:
    preset = PRESETS[name]
    side = preset.preparation.image_size
    counted = counted_costs.count_parameters(preset.config)
    assert sum(model_cost.parameters(preset.config).values()) == sum(counted.values())
    assert model_cost.parameters(preset.config)[model_cost.HEAD] == sum(
        count for part, count in counted.items() if part in ("norm", "head", "head_dist")
    )
    assert sum(model_cost.multiply_adds(preset.config, side).values()) == counted_costs.multiply_adds(
        preset.config, side
    )


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_model_is_counted_right(path: Path) -> None:
    header = read_header(path)
    side = header.preparation.image_size
    assert sum(model_cost.parameters(header.config).values()) == header.card["parameters"]
    assert sum(model_cost.multiply_adds(header.config, side).values()) == counted_costs.multiply_adds(
        header.config, side
    )


@pytest.mark.parametrize("name", ["vit_base_patch8_224.augreg_in21k_ft_in1k", "swin_base_patch4_window12_384.ms_in1k",
                                  "vit_small_patch14_reg4_dinov2.lvd142m"])  # fmt: skip
def test_published_shapes_are_counted_right(name: str) -> None:
    entry = PRETRAINED[name]
    side = entry.opens_at_px
    found = sum(model_cost.multiply_adds(entry.config, side).values())
    assert found == counted_costs.multiply_adds(entry.config, side)


def test_one_layer_by_hand() -> None:
    """ViT-B/16 at 224 px: 197 tokens of 768, twelve layers; a layer 12 D^2 + 13 D weights."""
    config = PRESETS["vit_base_16"].config
    assert model_cost.parameters(config)[model_cost.LAYERS] == 12 * (12 * 768**2 + 13 * 768)
    found = model_cost.multiply_adds(config, 224)
    assert found[model_cost.LAYERS] == 12 * 197 * 12 * 768**2
    assert found[model_cost.ATTENTION] == 12 * 2 * 197**2 * 768
    assert (
        model_cost.tokens(config, 224) == 197 and model_cost.tokens(PRESETS["swin_tiny"].config, 224) == 56**2
    )


def test_what_does_not_tile_is_refused() -> None:
    with pytest.raises(ValueError, match="patches of 16 px do not tile an image of 220 px"):
        model_cost.multiply_adds(ViTConfig(image_size=224, patch_size=16), 220)
    with pytest.raises(ValueError, match="windows of 4 x 4 do not tile 6 x 6 tokens"):
        model_cost.multiply_adds(SwinConfig(image_size=12), 12)

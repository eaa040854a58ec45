"""A loaded model's typed ways to its parts."""

from __future__ import annotations

import pytest

from tests.random_models import preset_model
from vitviz.models.abilities import as_swin, as_vit
from vitviz.models.presets import PRESETS


def test_a_vit_has_blocks_and_a_swin_has_stages_of_them() -> None:
    vit, swin = preset_model("vit_digits"), preset_model("swin_digits")
    assert vit.vit.block(3) is vit.model.get_submodule("blocks.3")
    assert swin.swin.block(1, 0) is swin.model.get_submodule("layers.1.blocks.0")
    assert vit.layout(32, 32) == vit.vit.layout(32, 32) and vit.layout(32, 32).num_tokens == 65
    assert as_vit(vit.config) is vit.config and as_swin(swin.config) is swin.config


@pytest.mark.parametrize("name", ["swin_digits", "cnn_digits"])
def test_what_is_no_vit_says_what_it_is(name: str) -> None:
    with pytest.raises(TypeError, match="must be a ViT, received a "):
        _ = preset_model(name).vit
    with pytest.raises(TypeError, match="must be a ViTConfig, received a "):
        as_vit(PRESETS[name].config)


def test_what_is_no_swin_says_what_it_is() -> None:
    with pytest.raises(TypeError, match="must be a Swin, received a VisionTransformer"):
        _ = preset_model("vit_digits").swin
    with pytest.raises(TypeError, match="must be a SwinConfig, received a ViTConfig"):
        as_swin(PRESETS["vit_digits"].config)

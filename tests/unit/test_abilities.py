"""What a model has, and the sentence where it has not."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from vitviz.config import (
    CNNConfig,
    ConvAttentionConfig,
    FlatAttentionConfig,
    ModelConfig,
    SwinConfig,
    ViTConfig,
)
from vitviz.models.abilities import Abilities, Ability, abilities, as_cnn, as_cut, as_swin, as_vit
from vitviz.models.presets import PRESETS, Preset

NAMES = [field.name for field in fields(Abilities)]


def lacking(config: ModelConfig) -> set[str]:
    return {name for name in NAMES if not getattr(abilities(config), name)}


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_preset_has_an_ability_or_a_sentence_that_says_why_not(preset: Preset) -> None:
    able = abilities(preset.config)
    for name in NAMES:
        ability: Ability = getattr(able, name)
        assert bool(ability) == (ability.why_not == "")
        if not ability:
            assert ability.why_not[0].isupper() and ability.why_not.endswith("."), ability.why_not
    assert able.attention or not (able.heads_over_all or able.windows)
    assert not (able.heads_over_all and able.windows)
    assert able.positions or not able.learned_positions
    assert able.prefix or not able.cls_readout


OF_PATCHES = {
    "attention",
    "heads_over_all",
    "rollout",
    "hidden_patches",
    "embedding",
    "filters",
    "distance",
    "layers",
}


@pytest.mark.parametrize(
    ("config", "more"),
    [
        (ViTConfig(), {"distillation"}),
        (ViTConfig(distilled=True), set()),
        (ViTConfig(readout="mean"), {"cls_readout", "prefix", "distillation"}),
        (ViTConfig(readout="mean", num_registers=4), {"cls_readout", "distillation"}),
        (ViTConfig(readout="first_patch"), {"cls_readout", "prefix", "distillation"}),
        (ViTConfig(positions="none"), {"learned_positions", "distillation"}),
        (ViTConfig(num_classes=0), {"class_head", "logit_shares", "distillation"}),
        (ViTConfig(residual=False), {"blocks", "logit_shares", "rollout", "distillation"}),
        (ViTConfig(mlp_norm=True), {"blocks", "logit_shares", "distillation"}),
        (ViTConfig(norm="res_post"), {"blocks", "logit_shares", "distillation"}),
        (ViTConfig(norm_layer="rms"), {"blocks", "logit_shares", "logit_lens", "distillation"}),
        (
            ViTConfig(readout="map"),
            {"cls_readout", "logit_lens", "logit_shares", "prefix", "distillation"},
        ),
        (ViTConfig(embed="reshape"), {*OF_PATCHES, "distillation"}),
        (ViTConfig(num_classes=0, distilled=True), {"class_head", "logit_shares", "distillation"}),
    ],
)
def test_a_vit_s_options_take_abilities_away(config: ViTConfig, more: set[str]) -> None:
    assert lacking(config) == {"windows", "receptive_field", "stem"} | more


def test_a_hybrid_has_a_stem_in_place_of_e() -> None:
    lacks = {"windows", "receptive_field", "embedding", "any_size", "distillation"}
    assert lacking(ViTConfig(stem=(8, 16))) == lacks


def test_a_swin_has_windows_and_e_but_no_one_row_over_all() -> None:
    has = {
        "attention",
        "windows",
        "class_head",
        "logit_shares",
        "embedding",
        "filters",
        "distance",
        "layers",
        "new_head",
        "whole_record",
        "many_images",
    }
    assert lacking(SwinConfig()) == set(NAMES) - has
    assert not abilities(SwinConfig(num_classes=0)).class_head
    assert lacking(SwinConfig(masked=False)) == set(NAMES) - has | {"windows"}


def test_what_is_no_transformer_has_little() -> None:
    assert lacking(CNNConfig()) == set(NAMES) - {
        "class_head",
        "filters",
        "receptive_field",
        "distance",
        "layers",
        "new_head",
        "whole_record",
        "many_images",
    }
    others = set(NAMES) - {"class_head", "whole_record", "many_images"}
    assert lacking(ConvAttentionConfig()) == lacking(FlatAttentionConfig()) == others


def test_all_layers_of_a_thousand_tokens_are_too_large_for_a_record() -> None:
    large = ViTConfig(image_size=448, patch_size=14, embed_dim=384, depth=12, num_heads=6)
    assert "takes 303 MB" in abilities(large).whole_record.why_not
    assert abilities(ViTConfig(image_size=224, patch_size=8)).whole_record


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (ViTConfig(image_size=32, patch_size=32), "single patch"),
        (ViTConfig(image_size=32, patch_size=16), ""),
        (SwinConfig(image_size=8, patch_size=2, depths=(1, 1, 1), num_heads=(3, 3, 3)), "single position"),
        (SwinConfig(image_size=10, patch_size=2, depths=(1, 1, 1), num_heads=(3, 3, 3)), ""),
        (CNNConfig(image_size=8, widths=(4, 4, 4, 4), blocks=(1, 1, 1, 1)), "single position"),
        (CNNConfig(image_size=9, widths=(4, 4, 4, 4), blocks=(1, 1, 1, 1)), ""),
    ],
)
def test_layers_have_two_places_or_more(config: ModelConfig, words: str) -> None:
    why_not = abilities(config).layers.why_not
    assert words in why_not and bool(words) == bool(why_not)


def test_the_sentence_fits_the_model() -> None:
    assert "3 overlapping" in abilities(ViTConfig(stem=(8, 16, 32))).embedding.why_not
    assert "first patch" in abilities(ViTConfig(readout="first_patch")).cls_readout.why_not
    assert "Swin" in abilities(SwinConfig()).positions.why_not
    assert abilities(replace(SwinConfig())) is abilities(SwinConfig())  # told once


def test_a_config_is_taken_as_what_its_abilities_say() -> None:
    cut = (ViTConfig(), SwinConfig())
    assert [as_cut(config) for config in cut] == [*cut] and as_cnn(CNNConfig()) == CNNConfig()
    for take, config in (
        (as_cut, CNNConfig()),
        (as_cnn, ViTConfig()),
        (as_vit, SwinConfig()),
        (as_swin, ViTConfig()),
    ):
        with pytest.raises(TypeError, match=type(config).__name__):
            take(config)


def test_the_families_are_a_vit_s_options_and_the_kinds() -> None:
    configs = (ViTConfig(), ViTConfig(distilled=True), ViTConfig(stem=(8, 16)), SwinConfig(), CNNConfig())
    assert [config.family for config in configs] == ["vit", "deit", "hybrid", "swin", "cnn"]
    assert [config.family for config in (ConvAttentionConfig(), FlatAttentionConfig())] == [
        ConvAttentionConfig.kind,
        FlatAttentionConfig.kind,
    ]

"""Every ViT-like model of timm opens with equal numbers or is refused: 0 are wrong, and the table says the truth."""

from __future__ import annotations

import importlib
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from timm_sweep import build, check, list_names, write_folder

from vitviz.config import ViTConfig
from vitviz.models.formats import open_model
from vitviz.models.formats.module_settings import find_timm_model, read_module
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.pretrained_list import PretrainedError

SAMPLES = (
    "eva02_tiny_patch14_224",
    "vit_pe_core_tiny_patch16_384",
    "vit_tiny_patch16_dinov3_qkvb",
    "vit_small_patch16_rope_mixed_ape_224",
    "vit_base_patch16_siglip_224",
    "aimv2_large_patch14_224",
    "swinv2_tiny_window8_256",
    "vit_base_patch16_rpn_224",
    "beit3_base_patch16_224",
)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_family_of_timm_opens_with_equal_numbers(name: str) -> None:
    result = check(name)
    assert (result.outcome, result.why) == ("opens", "")


@pytest.mark.parametrize(
    "name", ["eva02_tiny_patch14_224", "vit_tiny_patch16_dinov3_qkvb", "swinv2_tiny_window8_256"]
)
def test_the_stored_settings_are_those_of_timm(name: str) -> None:
    from parity_peers import timm

    expected = read_module(timm.create_model(name))
    stored = dict(find_timm_model(name))
    assert stored.keys() == expected.keys()
    assert {key: list(v) if isinstance(v, tuple) else v for key, v in expected.items()} == stored


def open_both(name: str) -> tuple[ViTConfig, LoadedModel]:
    """Return the config of a folder, and the model of its tensors alone with its heads and image size stated."""
    model, arguments = build(name)
    with tempfile.TemporaryDirectory() as folder:
        write_folder(model, arguments, Path(folder))
        config = open_model(Path(folder)).config
    assert isinstance(config, ViTConfig)
    given = {"num_heads": config.num_heads, "img_size": config.image_size}
    return config, open_model(model.state_dict(), given=given)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("vit_pe_core_tiny_patch16_384", "those of timm's PE, whose rotary positions"),
        ("vit_pe_spatial_tiny_patch16_512", "those of timm's PE, whose rotary positions"),
        ("vit_small_patch16_rope_mixed_224", "alone does not say how its positions are counted"),
        ("vit_tiny_patch16_dinov3_qkvb", "do not show whether it has rotary positions"),
        ("test_vit3", "whether its attention pooling reads the prefix tokens"),
        ("vit_base_patch16_rpn_224", "norms after the sublayers"),
    ],
)
def test_names_of_two_families_are_refused_until_the_architecture_is_stated(name: str, reason: str) -> None:
    with pytest.raises(PretrainedError, match=reason) as refused:
        open_both(name)
    assert "architecture='NAME'" in str(refused.value)


def test_the_type_of_rotary_positions_alone_is_not_enough() -> None:
    model, _ = build("eva02_tiny_patch14_224")
    with pytest.raises(PretrainedError, match="rope_type 'cat' alone"):
        open_model(model.state_dict(), given={"rope_type": "cat"})


@pytest.mark.parametrize(
    "name", ["aimv2_large_patch14_224", "test_vit4", "beit3_base_patch16_224", "vit_base_patch16_gap_224"]
)
def test_tensors_alone_open_as_their_folder(name: str) -> None:
    config, bare = open_both(name)
    assert bare.config == config


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_tensors_alone_open_as_their_folder_or_with_a_note_or_are_refused() -> None:
    silent = []
    for name in list_names():
        if name.startswith("swin"):
            continue
        try:
            config, bare = open_both(name)
        except (PretrainedError, RuntimeError):
            continue
        assert isinstance(bare.config, ViTConfig)
        acts = {"activation": config.activation, "pool_activation": config.pool_activation}
        if any("activation" in note for note in bare.notes):
            bare = replace(bare, config=replace(bare.config, **acts))
        if replace(bare.config, pool_heads=config.pool_heads) != config:  # of reduced models alone
            silent.append(name)
    assert not silent


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_models_of_timm_open_or_are_refused() -> None:
    results = [check(name) for name in list_names()]
    for result in results:
        print(f"{result.outcome:8} {result.name:45} {result.why}")
    counts = Counter(result.outcome for result in results)
    print(dict(counts))
    assert counts["wrong"] == 0 and counts["opens"] >= 0.85 * len(results)
    assert importlib.import_module("timm").__version__ == "1.0.31", "the counts are this version's"

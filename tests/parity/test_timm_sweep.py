"""Every ViT-like model of timm opens with equal numbers or is refused: 0 are wrong, and the table says the truth."""

from __future__ import annotations

import importlib
from collections import Counter

import pytest
from timm_sweep import check, list_names

from vitviz.models.formats.module_settings import find_timm_model, read_module

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

"""Check the map's sentences for models that differ in positions, readout and token counts."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pages.start.map_messages import build_map
from tests.messages import unpack
from tests.random_models import random_model
from vitviz.analysis.forward_pass import Journey
from vitviz.config import ModelConfig, ViTConfig
from vitviz.models.abilities import abilities
from vitviz.models.presets import PRESETS
from vitviz.probe.forward_pass import record_journey

VIT = replace(PRESETS["vit_digits"].config, depth=2)


def header_of(config: ModelConfig, preset: str = "vit_digits") -> tuple[dict[str, Any], Journey]:
    model = random_model(config, PRESETS[preset].preparation, seed=0)
    size = config.image_size
    values = np.random.default_rng(2).normal(size=(config.in_chans, size, size)).astype(np.float32)
    way = record_journey(model, values)
    header, _ = unpack(build_map(model, way, np.zeros((size, size, 3), np.uint8)))
    return header, way


def part_of(header: dict[str, Any], name: str) -> dict[str, Any]:
    return next(part for part in header["parts"] if part["id"] == name)


def preset(name: str) -> tuple[dict[str, Any], Journey]:
    return header_of(PRESETS[name].config, name)


def test_a_station_s_reason_for_positions_is_its_part_s() -> None:
    """Padded convolutions tell places by themselves: positions are not all that tells a hybrid's."""
    for name, why in (("vit_digits", "without it"), ("hybrid_cifar10", "it encodes where")):
        part = part_of(preset(name)[0], "positions")
        assert why in part["why"] and part["words"].endswith(f"{part['why']}.")


def test_a_map_of_the_pixels_knows_no_place() -> None:
    header, _ = preset("recipe_d")
    part = part_of(header, "positions")
    for text in (part["words"], part["what"], part["caption"]):
        assert "second linear map" in text and "learned vector" not in text
    assert part["words"].endswith(f"{part['why']}.") and "no position" in part["why"]
    assert part["called"] == "second map"
    added = next(t for t in header["equations"][0]["tokens"] if isinstance(t, dict) and t["sub"] == "pos")
    assert "second linear map" in added["say"]


def test_whom_a_position_is_added_to() -> None:
    """Recipe A adds none to [CLS]."""
    assert part_of(preset("recipe_a")[0], "positions")["caption"] == "each patch's token gets its own"
    assert part_of(preset("vit_digits")[0], "positions")["caption"] == "each token gets its own"


def test_fewer_tokens_reach_the_last_layers_of_a_swin() -> None:
    returned = preset("swin_cifar10")[0]["caption"]
    assert re.match(r"256 tokens .*\b64\b.* 6 layers: ", returned)
    assert preset("vit_digits")[0]["caption"].startswith("65 tokens pass ")


def test_a_deit_s_score_is_the_mean_of_its_heads_scores() -> None:
    header = preset("deit_digits")[0]
    assert "[CLS] and [DIST]" in part_of(header, "head")["words"]
    assert part_of(header, "classes")["caption"] == "softmax of the mean logit"


@pytest.mark.parametrize("name", ["vit_digits", "swin_digits", "hybrid_cifar10", "deit_digits", "cnn_digits"])
def test_a_part_is_described_in_few_words_and_captioned_in_a_line(name: str) -> None:
    for part in preset(name)[0]["parts"]:
        assert len(re.findall(r"[\w\[]+(?:[.,]\d+)*", part["words"])) <= 25, part[
            "words"
        ]  # numbers and signs too
        assert len(part["caption"]) <= 42, part["caption"]


def test_tokens_of_pixel_rows_have_no_map_of_patches_and_the_reason_is_reported() -> None:
    config = replace(VIT, embed="reshape")
    header, way = header_of(config)
    assert [part["id"] for part in header["parts"]] == ["picture", "classes"]
    assert header["caption"].endswith(abilities(config).attention.why_not)
    shuttered = header_of(replace(VIT, residual=False))[0]
    assert shuttered["caption"].endswith(abilities(replace(VIT, residual=False)).blocks.why_not)
    assert not preset("vit_digits")[1].why_bare and way.why_bare


@pytest.mark.parametrize("readout", ["cls", "mean"])
def test_one_patch_is_named_in_the_singular(readout: str) -> None:
    header, _ = header_of(replace(VIT, patch_size=32, readout=readout))
    returned = " ".join([header["caption"], *(part["words"] for part in header["parts"])])
    assert "1 tokens" not in returned and "1 squares" not in returned and "1 token pass " not in returned
    assert ("1 token becomes 2." in returned) == (readout == "cls")
    assert ("1 token passes through 2 layers" in returned) == (readout == "mean")


@pytest.mark.parametrize("config", [VIT, replace(VIT, norm="post")])
def test_a_block_says_how_long_a_token_leaves_it(config: ViTConfig) -> None:
    _, way = header_of(config)
    for name in ("block.1", "block.2"):
        content = next(part.content for part in way.parts if part.id == name)
        np.testing.assert_allclose(
            content.lengths[:, 4], np.linalg.norm(content.stream[1], axis=1), rtol=1e-5
        )


def test_a_swin_s_token_leaves_the_block_before_a_merging_as_long_as_it_is() -> None:
    _, way = preset("swin_digits")
    before = way.parts[next(i for i, part in enumerate(way.parts) if part.id.startswith("merge")) - 1].content
    assert before.lengths.shape[1] == 5
    np.testing.assert_allclose(before.lengths[:, 4], np.linalg.norm(before.stream[1], axis=1), rtol=1e-5)

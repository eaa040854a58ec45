"""Presets: parameter counts and multiply-adds of the papers, and every small one runs."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import cos, sin

import pytest
import torch

from tests.counted_costs import count_parameters, multiply_adds
from vitviz.config import SwinConfig, ViTConfig, from_dict, to_dict
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model, empty_model
from vitviz.training.batches import make_normaliser

# Counted by construction, independently of this code; multiply-adds in 10^9, attention products included.
PAPERS = {
    "vit_tiny_16": (5_717_416, 1.26),
    "vit_small_16": (22_050_664, 4.61),
    "vit_base_16": (86_567_656, 17.58),
    "vit_base_32": (88_224_232, 4.41),
    "vit_large_16": (304_326_632, 61.6),
    "vit_huge_14": (632_045_800, 167.4),
    "deit_tiny_16": (5_717_416, 1.26),
    "deit_small_16": (22_050_664, 4.61),
    "deit_base_16": (86_567_656, 17.58),
    "deit_tiny_distilled_16": (5_910_800, 1.26),
    "deit_small_distilled_16": (22_436_432, 4.63),
    "deit_base_distilled_16": (87_338_192, 17.68),
    "swin_tiny": (28_288_354, 4.5),
    "swin_small": (49_606_258, 8.7),
    "swin_base": (87_768_224, 15.4),
}
SMALL = [name for name in PRESETS if name not in PAPERS]
RECIPES = "abcdefg"


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_sizes_of_the_papers(name: str) -> None:
    parameters, giga = PAPERS[name]
    config = PRESETS[name].config
    assert sum(count_parameters(config).values()) == parameters
    # The reference also counts the layer norms, up to half a percent.
    assert multiply_adds(config, 224) / 1e9 == pytest.approx(giga, rel=0.006)


@pytest.mark.parametrize("name", SMALL)
def test_small_presets_run_at_their_preparations_size(name: str) -> None:
    preset = PRESETS[name]
    model = create_model(preset.config, seed=0).eval()
    side = preset.preparation.image_size
    logits = model(torch.randn(2, preset.preparation.in_chans, side, side))
    assert logits.shape == (2, preset.config.num_classes)
    assert torch.isfinite(logits).all()
    assert model.layout(side, side).num_tokens >= 1
    assert from_dict(json.loads(json.dumps(to_dict(preset.config)))) == preset.config


def test_every_recipe_of_the_lecture_is_there_with_its_training() -> None:
    for letter in RECIPES:
        presets = [preset for name, preset in PRESETS.items() if name.startswith(f"recipe_{letter}")]
        assert presets, letter
        assert all(preset.train is not None for preset in presets), letter
    assert PRESETS["recipe_a"].train.frozen == ("patch_embed",)


def test_recipe_c_counts_its_places_from_cls() -> None:
    """Row 0 of the lecture's table, sin 0 and cos 0 by turns, goes to [CLS]; row 1 to the first patch."""
    model = create_model(PRESETS["recipe_c"].config, seed=0).eval()
    _, record = model(torch.zeros(1, 1, 28, 28), record=["patch_embed", "embedded"])
    added = record["embedded"][0] - torch.cat([model.cls_token[0], record["patch_embed"][0]])
    torch.testing.assert_close(added[0], torch.tensor([0.0, 1.0] * 4))
    torch.testing.assert_close(added[1, :2], torch.tensor([sin(1.0), cos(1.0)]))
    assert len(added) == 50
    before = replace(
        PRESETS["recipe_c"].config, sincos_on_prefix=False
    )  # as old runs say it, by leaving it out
    values = to_dict(before)
    del values["sincos_on_prefix"]
    assert from_dict(values) == before
    assert create_model(before).position_table((7, 7)).shape == (1, 49, 8)


def test_recipe_d_drops_attention_weights_and_reads_images_from_minus_one_to_one() -> None:
    preset = PRESETS["recipe_d"]
    assert (preset.config.dropout, preset.config.attention_dropout) == (0.2, 0.2)
    normalise, _ = make_normaliser(preset.preparation, torch.float32, torch.device("cpu"))
    black_white = torch.tensor([0, 255], dtype=torch.uint8).view(2, 1, 1, 1)
    torch.testing.assert_close(normalise(black_white).flatten(), torch.tensor([-1.0, 1.0]))
    x = torch.randn(2, 1, 28, 28)
    for rate in (0.0, 0.2):
        model = create_model(replace(preset.config, dropout=0.0, attention_dropout=rate), seed=0).train()
        assert torch.equal(model(x), model(x)) == (rate == 0.0)


def test_recipe_e_makes_the_steps_that_its_log_counts() -> None:
    train = PRESETS["recipe_e"].train
    assert train is not None and 60_000 / train.batch_size == 1_875


def test_a_seed_gives_the_same_weights_and_leaves_the_global_dice_alone() -> None:
    config = ViTConfig(embed_dim=16, depth=1, num_heads=2)
    before = torch.get_rng_state()
    first, second = create_model(config, seed=3), create_model(config, seed=3)
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    other = create_model(config, seed=4)
    assert not torch.equal(first.head.weight, other.head.weight)


def test_an_unknown_config_is_refused() -> None:
    with pytest.raises(ValueError, match="no model for a str"):
        create_model("vit")


def test_stochastic_depth_rises_linearly() -> None:
    rates = [
        block.drop_path_rate
        for layer in create_model(SwinConfig(drop_path=0.3)).layers
        for block in layer.blocks
    ]
    assert rates == pytest.approx([0.0, 0.1, 0.2, 0.3])


@pytest.mark.parametrize("name", SMALL)
def test_an_empty_model_has_the_shapes_and_no_numbers(name: str) -> None:
    config = PRESETS[name].config
    full, empty = create_model(config, 0).state_dict(), empty_model(config).state_dict()
    assert {key: (tensor.shape, tensor.dtype) for key, tensor in full.items()} == {
        key: (tensor.shape, tensor.dtype) for key, tensor in empty.items()
    }
    assert {tensor.device.type for key, tensor in empty.items()} == {"meta"}


def test_a_seed_gives_the_same_weights_while_other_threads_create_models() -> None:
    configs = [PRESETS[name].config for name in ("vit_shapes", "swin_digits")]
    alone = [create_model(config, seed=0).state_dict() for config in configs]

    def create(index: int) -> bool:
        state = create_model(configs[index % 2], seed=0).state_dict()
        return all(torch.equal(state[name], tensor) for name, tensor in alone[index % 2].items())

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(create, range(24)))

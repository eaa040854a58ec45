"""Test trained models with rounded weights, grown windows and exchanged tokens, and what is stored of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vitviz.analysis.study_numbers import read_numbers
from vitviz.checkpoints import open_model
from vitviz.config import SwinConfig
from vitviz.data.cifar10_few import few_dataset
from vitviz.experiments import changed_models
from vitviz.experiments.result_file import CHECKPOINTS, read_result, unpack_correct
from vitviz.models.zoo import create_model

SWIN = SwinConfig(
    image_size=16, patch_size=2, embed_dim=8, depths=(2, 2), num_heads=(2, 2), window_size=4, num_classes=4
)


def test_weights_are_rounded_to_multiples_of_a_scale_a_row() -> None:
    weight = torch.tensor([[0.7, -0.26, 0.04], [7.0, 3.4, -7.0], [0.0, 0.0, 0.0]])
    rounded = changed_models.round_weights(weight, 4)  # whole numbers from -7 to 7
    assert torch.allclose(rounded, torch.tensor([[0.7, -0.3, 0.0], [7.0, 3.0, -7.0], [0.0, 0.0, 0.0]]))
    signs = changed_models.round_weights(weight, 2)
    assert torch.allclose(signs, torch.tensor([[0.7, 0.0, 0.0], [7.0, 0.0, -7.0], [0.0, 0.0, 0.0]]))


def test_a_swin_of_its_own_size_stays_and_a_grown_one_has_as_many_windows() -> None:
    model, image = create_model(SWIN, seed=1).eval(), torch.randn(2, 3, 16, 16)
    with torch.no_grad():
        same = changed_models.grow_windows(model, SWIN, 16)
        assert torch.equal(same(image), model(image))
        grown = changed_models.grow_windows(model, SWIN, 32)
        flat = torch.ones(1, 3, 1, 1)  # of one colour, so that only the tables tell positions apart
        for block in (
            module for module in model.modules() if hasattr(module, "relative_position_bias_table")
        ):
            block.relative_position_bias_table.zero_()
        larger = changed_models.grow_windows(model, SWIN, 32)
        assert torch.allclose(
            larger(flat.expand(-1, -1, 32, 32)), model(flat.expand(-1, -1, 16, 16)), atol=1e-5
        )
    assert grown.config.window_size == 8 and grown.config.image_size == 32


def test_tokens_of_another_image_bring_its_class() -> None:
    """With all patches of the next image and [CLS] from before the first layer, its own prediction is left."""
    loaded = open_model(CHECKPOINTS / "cifar10_vit.safetensors")
    images = few_dataset().test_images[:8]
    with torch.no_grad():
        predicted = {
            tokens: changed_models._classify_exchanged(loaded, {"tokens": tokens, "layer": 1}, images)
            for tokens in ("none", "cls", "patches")
        }
    assert torch.allclose(predicted["cls"], predicted["none"], atol=1e-4)
    assert torch.allclose(predicted["patches"], predicted["none"].roll(1, dims=0), atol=1e-4)


def test_at_its_own_size_both_ways_are_the_trained_swin() -> None:
    stored = read_result("swin_sizes")
    kept, grown = (
        unpack_correct(stored.where(windows=way, size=32)[0]["right"]) for way in ("kept", "grown")
    )
    assert np.array_equal(kept, grown)


def test_changes_of_one_trained_model_are_compared_over_images_alone() -> None:
    numbers = read_numbers(
        [{"result": "swin_sizes"}],
        {"kept": "kept", "grown": "grown"},
        series="windows",
        x="size",
        as_trained=True,
    )
    stored = read_result("swin_sizes")
    kept, grown = (
        unpack_correct(stored.where(windows=way, size=48)[0]["right"]).astype(float)
        for way in ("kept", "grown")
    )
    difference = 100 * (grown - kept)
    verdict = numbers.compare("grown", "kept", 48)
    half = 1.96 * difference.std(ddof=1) / np.sqrt(len(difference))
    assert verdict.estimate == pytest.approx(difference.mean())
    assert (verdict.low, verdict.high) == pytest.approx(
        (difference.mean() - half, difference.mean() + half), abs=0.01
    )
    assert verdict.outcome == "higher" and verdict.sample == numbers.sample == "2,000 images"

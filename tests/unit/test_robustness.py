"""Models before a series of pictures, on seeded random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from vitviz.analysis.changes import series
from vitviz.config import CNNConfig, ModelConfig, Preparation, SwinConfig, ViTConfig
from vitviz.models.loaded import LoadedModel
from vitviz.models.zoo import create_model
from vitviz.probe.robustness import answers, summed, sweep

VIT = ViTConfig(image_size=16, embed_dim=16, depth=2, num_heads=2, num_classes=4)
CNN = CNNConfig(image_size=16, widths=(8, 16), blocks=(1, 1), num_classes=4)
SWIN = SwinConfig(
    image_size=16, patch_size=2, embed_dim=16, depths=(2, 2), num_heads=(2, 2), window_size=4, num_classes=4
)
PICTURES = series(np.random.default_rng(1).integers(0, 256, (16, 16, 3), dtype=np.uint8), "shift")[:5]


def loaded(config: ModelConfig) -> LoadedModel:
    preparation = Preparation(image_size=16, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.4))
    return LoadedModel(create_model(config, seed=1), config, preparation, tuple("abcd"), "x", None, 0, "x")


@pytest.mark.parametrize("config", [VIT, CNN, SWIN], ids=lambda config: config.kind)
def test_the_answers_are_the_models_own(config: ModelConfig) -> None:
    model = loaded(config)
    found = sweep(model, PICTURES)
    mean, std = torch.tensor([0.4, 0.5, 0.6]), torch.tensor([0.2, 0.3, 0.4])
    x = (torch.tensor(PICTURES) / 255 - mean) / std
    with torch.no_grad():
        own = model.model(x.permute(0, 3, 1, 2)).softmax(-1).numpy()
    assert np.allclose(found.probabilities, own, atol=1e-5)
    assert np.array_equal(found.answers, own.argmax(1)) and np.array_equal(
        answers(model, PICTURES), own.argmax(1)
    )
    assert len(found.views) == len(PICTURES) and found.views.min() >= 0


def test_a_vit_shows_its_attention_and_a_cnn_its_gradient() -> None:
    attended, explained = sweep(loaded(VIT), PICTURES), sweep(loaded(CNN), PICTURES)
    assert (attended.by, attended.views.shape) == ("attention", (5, 4, 4))
    assert (attended.views.sum(axis=(1, 2)) <= 1 + 1e-5).all()
    assert (explained.by, explained.views.shape) == ("gradient", (5, 8, 8))


def test_what_speaks_for_a_class_is_summed_over_channels_and_cells() -> None:
    pixels = np.zeros((1, 2, 4, 4), np.float32)
    pixels[0, 0, 0, :2], pixels[0, 1, 1, 1], pixels[0, 0, 2, 2] = 1, 3, -1
    assert summed(pixels, 2).tolist() == [[[5, 0], [0, 0]]]


def test_pictures_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match="16, 16, 3"):
        sweep(loaded(VIT), np.zeros((1, 8, 8, 3), np.uint8))


def test_what_was_measured_again_is_what_is_stored(tmp_path: Path) -> None:
    from vitviz.experiments import robustness

    same = np.array([True, False, True, True])
    assert robustness.share(same) == 0.75
    images = np.random.default_rng(0).integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)
    shuffled = robustness.all_changed(images, "shuffle", 1.0)
    assert np.array_equal(np.sort(shuffled, axis=None), np.sort(images, axis=None))
    assert not np.array_equal(shuffled, robustness.all_changed(images[::-1], "shuffle", 1.0)[::-1])

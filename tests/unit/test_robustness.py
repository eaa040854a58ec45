"""Models before a series of images, on seeded random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.random_models import random_model
from vitviz.analysis.image_changes import apply_all_strengths, shift
from vitviz.checkpoints import open_model
from vitviz.config import CNNConfig, ModelConfig, Preparation, SwinConfig, ViTConfig
from vitviz.data.cifar10_few import few_dataset
from vitviz.experiments import robustness as experiment
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.zoo import create_model
from vitviz.probe.robustness import answers, summed, sweep

VIT = ViTConfig(image_size=16, embed_dim=16, depth=2, num_heads=2, num_classes=4)
CNN = CNNConfig(image_size=16, widths=(8, 16), blocks=(1, 1), num_classes=4)
SWIN = SwinConfig(
    image_size=16, patch_size=2, embed_dim=16, depths=(2, 2), num_heads=(2, 2), window_size=4, num_classes=4
)
PICTURES = apply_all_strengths(
    np.random.default_rng(1).integers(0, 256, (16, 16, 3), dtype=np.uint8), "shift"
)[:5]


def loaded(config: ModelConfig) -> LoadedModel:
    return random_model(config, Preparation(16, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.4)))


def as_input(images: np.ndarray) -> torch.Tensor:
    """As the models take them; written without the project's own code."""
    mean, std = torch.tensor([0.4, 0.5, 0.6]), torch.tensor([0.2, 0.3, 0.4])
    return ((torch.tensor(images) / 255 - mean) / std).permute(0, 3, 1, 2)


@pytest.mark.parametrize("config", [VIT, CNN, SWIN], ids=lambda config: config.kind)
def test_the_answers_are_the_models_own(config: ModelConfig) -> None:
    model = loaded(config)
    found = sweep(model, PICTURES)
    with torch.no_grad():
        own = model.model(as_input(PICTURES)).softmax(-1).numpy()
    assert np.allclose(found.probabilities, own, atol=1e-5)
    assert np.array_equal(found.answers, own.argmax(1)) and np.array_equal(
        answers(model, PICTURES), own.argmax(1)
    )
    assert len(found.views) == len(PICTURES) and found.views.min() >= 0


def test_a_vit_shows_its_attention_and_a_cnn_its_gradient() -> None:
    attended, explained = sweep(loaded(VIT), PICTURES), sweep(loaded(CNN), PICTURES)
    vit, cnn = create_model(VIT, seed=1).eval(), create_model(CNN, seed=1).eval()
    _, record = vit(as_input(PICTURES), record=["blocks.1.attn"])
    rows = record["blocks.1.attn"].mean(1)[:, 0, 1:]  # what [CLS] sees of the patches, the mean of the heads
    assert attended.by == "attention"
    np.testing.assert_allclose(attended.views, rows.view(5, 4, 4).detach().numpy(), rtol=1e-4)

    x = as_input(PICTURES).requires_grad_()
    cnn.requires_grad_(False)(x).max(1).values.sum().backward()
    assert x.grad is not None
    speaks = (x.grad * x).sum(1).detach().view(5, 8, 2, 8, 2).sum((2, 4)).clamp(min=0)
    assert explained.by == "gradient" and explained.views.max() > 0
    np.testing.assert_allclose(explained.views, speaks.numpy(), rtol=1e-3, atol=1e-6)


def test_what_speaks_for_a_class_is_summed_over_channels_and_cells() -> None:
    pixels = np.zeros((1, 2, 4, 4), np.float32)
    pixels[0, 0, 0, :2], pixels[0, 1, 1, 1], pixels[0, 0, 2, 2] = 1, 3, -1
    assert summed(pixels, 2).tolist() == [[[5, 0], [0, 0]]]


def test_every_image_has_a_shuffle_of_its_own() -> None:
    one = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    found = experiment.all_changed(np.stack([one, one]), "shuffle", 1.0)
    assert np.array_equal(np.sort(found, axis=None), np.sort(np.stack([one, one]), axis=None))
    assert not np.array_equal(found[0], found[1])


def test_a_cell_says_how_many_are_right_and_how_many_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = few_dataset()
    monkeypatch.setattr(experiment, "load_dataset", lambda name: few)
    cell = {"change": "shift", "value": 3, "model": "cifar10_swin"}
    threads = torch.get_num_threads()
    found = experiment.measure_cell(40, experiment.CHECKPOINTS, cell, tmp_path)
    again = experiment.measure_cell(40, experiment.CHECKPOINTS, cell, tmp_path)
    torch.set_num_threads(threads)
    model = open_model(experiment.CHECKPOINTS / "cifar10_swin.safetensors")
    images, labels = few.test_images[:40], few.labels_of("test")[:40]
    with torch.no_grad():
        before, after = (
            model.model(((torch.tensor(x) / 255 - 0.5) / 0.5).permute(0, 3, 1, 2)).argmax(1).numpy()
            for x in (images, np.stack([shift(one, 3) for one in images]))
        )
    assert found == again == {"right": np.mean(after == labels), "same": np.mean(after == before)}
    assert 0.3 < found["right"] < found["same"] <= 1

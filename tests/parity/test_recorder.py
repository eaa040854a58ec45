"""Trainings of the publishers' own modules are recorded as they are."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import vitviz
import vitviz.recorder as recorder_module
from vitviz.recorded_run import RecordedRun
from vitviz.torchvision_fix import import_torchvision

IMAGES = [np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8)]


@pytest.fixture(autouse=True)
def without_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let moments take as long as they need, so that a busy machine leaves none out."""
    monkeypatch.setattr(recorder_module, "FREE_S", 1e9)


def timm_vit() -> nn.Module:
    import_torchvision()  # also in the processes of test_recorder_parallel
    import timm

    return timm.create_model(
        "vit_tiny_patch16_224", img_size=32, patch_size=8, depth=2, num_classes=5, drop_rate=0.1
    )


def transformers_vit() -> nn.Module:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        image_size=32,
        patch_size=8,
        num_labels=5,
    )
    return ViTForImageClassification(config)


def torchvision_vit() -> nn.Module:
    models = import_torchvision().models
    return models.VisionTransformer(
        image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64, num_classes=5
    )


def vit_pytorch_vit() -> nn.Module:
    from vit_pytorch import ViT

    return ViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=64, dim_head=16)


def open_clip_vit() -> nn.Module:
    """Return a visual tower, whose output is the embedding: five values here."""
    vision = {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8}
    text = {"context_length": 5, "vocab_size": 11, "width": 8, "heads": 1, "layers": 1}
    tower: nn.Module = importlib.import_module("open_clip.model").CLIP(5, vision, text).visual
    return tower


def train(model: nn.Module, recorder: vitviz.Recorder | None, cast: bool = False) -> list[float]:
    torch.manual_seed(2)
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=1e-3), []
    model.train()
    for step in range(6):
        inputs, labels = torch.randn(4, 3, 32, 32), torch.randint(0, 5, (4,))
        with torch.autocast("cpu", torch.bfloat16, enabled=cast):
            outputs = model(inputs)
            loss = nn.functional.cross_entropy(getattr(outputs, "logits", outputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if recorder is not None:
                recorder.step(step, loss=loss)
    return losses


@pytest.mark.parametrize(
    "make", [timm_vit, transformers_vit, torchvision_vit, vit_pytorch_vit, open_clip_vit]
)
def test_losses_are_bit_identical_and_the_last_moment_is_the_trained_model(
    tmp_path: Path, make: Callable[[], nn.Module]
) -> None:
    models = []
    for _ in range(2):
        torch.manual_seed(1)
        models.append(make())
    losses = train(models[0], None)
    with vitviz.record(models[1], IMAGES, tmp_path / "run") as recorder:
        assert train(models[1], recorder) == losses
    run = RecordedRun(tmp_path / "run")
    assert run.steps() == [0, 1, 2, 3, 4, 5]
    row = run.moment(5).attention(run.config, 0, run.config.queries[0])
    view = vitviz.inspect(vitviz.load(models[1].eval()), IMAGES[0])
    query = "cls" if run.config.model.prefix_tokens else run.config.queries[0]
    expected = np.stack(
        [[view.attention(layer, head, query=query).ravel() for head in range(2)] for layer in (0, 1)]
    )
    assert row is not None
    np.testing.assert_allclose(row[:, :2, -16:], expected, atol=0.01)


@pytest.mark.parametrize(
    "how",
    [
        "autocast",
        "checkpointing",
        "compile",
        pytest.param("inductor", marks=[pytest.mark.slow, pytest.mark.filterwarnings("ignore")]),
    ],
)
def test_ways_of_training(tmp_path: Path, how: str) -> None:
    models: list[Any] = []
    for _ in range(2):
        torch.manual_seed(1)
        model: Any = timm_vit()
        if how == "checkpointing":
            model.set_grad_checkpointing(True)
        backend = {"compile": "eager", "inductor": "inductor"}.get(how)
        models.append(model if backend is None else torch.compile(model, backend=backend))
    losses = train(models[0], None, cast=how == "autocast")
    with vitviz.record(models[1], IMAGES, tmp_path / "run") as recorder:
        assert train(models[1], recorder, cast=how == "autocast") == losses
    assert RecordedRun(tmp_path / "run").steps() == [0, 1, 2, 3, 4, 5]

"""An exported folder opens in timm and transformers with equal logits, and here again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import vitviz
from tests.random_models import random_model
from vitviz.config import Preparation, SwinConfig, ViTConfig
from vitviz.models.loaded_model import LoadedModel

SHAPE = {"image_size": 32, "patch_size": 8, "num_classes": 3, "embed_dim": 48, "depth": 2, "num_heads": 3}
CONFIGS = {
    "deit": ViTConfig(**SHAPE, distilled=True),
    "registers": ViTConfig(**SHAPE, num_registers=2),
    "mean": ViTConfig(**SHAPE, readout="mean", layer_scale=0.1),
    "sincos": ViTConfig(**SHAPE, positions="sincos_2d_concat", readout="mean"),
    "no positions": ViTConfig(**SHAPE, positions="none", mlp_ratio=2.0),
    "swin": SwinConfig(image_size=32, num_classes=3),
}


def make(name: str) -> LoadedModel:
    """A shipped model, or one with random weights."""
    if name not in CONFIGS:
        return vitviz.load(name)
    loaded = random_model(CONFIGS[name], Preparation(32), classes=("a", "b", "c"), title=name, digest=name)
    with torch.no_grad():
        for parameter in loaded.model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    return loaded


@pytest.mark.parametrize("name", ["digits_vit", "cifar10_vit", "cifar10_swin", "cifar10_deit_soft", *CONFIGS])
def test_an_export_has_equal_logits_everywhere(name: str, tmp_path: Path) -> None:
    import timm
    from transformers import AutoModelForImageClassification

    ours = make(name)
    folder = vitviz.export(ours, tmp_path / "out")
    settings = json.loads((folder / "config.json").read_text())
    x = torch.randn(2, ours.config.in_chans, ours.config.image_size, ours.config.image_size)
    weights = folder / "model.safetensors"
    theirs = [
        timm.create_model(f"local-dir:{folder}", pretrained=True),
        timm.create_model(
            settings["architecture"],
            checkpoint_path=str(weights),
            num_classes=len(ours.classes),
            **settings["model_args"],
        ),
        AutoModelForImageClassification.from_pretrained(folder),
    ]
    with torch.no_grad():
        expected = ours.model(x)
        for model in theirs:
            output = model.eval()(x)
            torch.testing.assert_close(getattr(output, "logits", output), expected, atol=1e-5, rtol=1e-5)
        again = vitviz.load(folder)
        torch.testing.assert_close(again.model(x), expected, atol=1e-5, rtol=1e-5)
    assert list(theirs[2].config.id2label.values()) == list(ours.classes) == list(again.classes)
    data = timm.data.resolve_data_config(model=theirs[0])
    assert tuple(data["mean"]) == ours.preparation.mean and data["crop_pct"] == ours.preparation.crop_fraction
    assert again.preparation.std == ours.preparation.std


def test_what_timm_lacks_is_named(tmp_path: Path) -> None:
    for config, message in (
        (
            ViTConfig(residual=False, activation="relu"),
            "timm has no ViT with residual = False, activation = 'relu'",
        ),
        (ViTConfig(positions="pixels"), "timm has no ViT with positions = 'pixels'"),
        (ViTConfig(positions="rotary"), "rotary positions only in models of another architecture"),
        (ViTConfig(distilled=True, num_registers=2), "no DeiT with a distillation token and registers"),
        (SwinConfig(masked=False), "without the mask"),
    ):
        model = random_model(config, Preparation(32))
        with pytest.raises(ValueError, match=message):
            vitviz.export(model, tmp_path / "none")
    assert not (tmp_path / "none").exists()

"""The lines that open a model elsewhere run, with random weights for published ones; the names are the publishers'."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import vitviz
from vitviz.config import ViTConfig
from vitviz.models.pretrained_list import PRETRAINED, find
from vitviz.torchvision_fix import import_torchvision
from vitviz.usage_code import write_usage


@pytest.fixture(autouse=True)
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_torchvision()
    monkeypatch.chdir(tmp_path)
    pixels = np.random.default_rng(0).integers(0, 255, (40, 50, 3), dtype=np.uint8)
    Image.fromarray(pixels).save("image.png")


def run(lines: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(lines, "usage", "exec"), names)
    return names


def check_shapes(lines: str, names: dict[str, Any]) -> None:
    """Compare the shapes that comments state with the tensors; check both learning rates."""
    for name, shape in re.findall(r"^(\w+) = .*# (\([\d, ]+\))", lines, re.MULTILINE):
        assert str(tuple(names[name].shape)) == shape, name
    backbone, head = names["optimizer"].param_groups
    assert (backbone["lr"], head["lr"]) == (1e-4, 1e-3)
    assert {p.shape[0] for p in head["params"]} == {10}
    count = sum(p.numel() for group in (backbone, head) for p in group["params"])
    assert count == sum(p.numel() for p in names["model"].parameters())


@pytest.mark.parametrize("name", ["digits_vit", "cifar10_swin", "cifar10_deit_soft"])
def test_a_shipped_model_opens_in_timm_and_transformers(name: str) -> None:
    model = vitviz.load(name)
    lines = write_usage(name, model.config)
    timm_lines, _, transformers_lines = lines.partition("# The same weights in transformers")
    names = run(timm_lines)
    check_shapes(timm_lines, names)
    expected = model.model(names["x"])
    torch.testing.assert_close(names["logits"], expected, atol=1e-5, rtol=1e-5)
    names = run(f"from PIL import Image\n#{transformers_lines}")
    torch.testing.assert_close(names["logits"], expected, atol=1e-4, rtol=1e-4)
    assert transformers_lines in (Path(name) / "README.md").read_text("utf-8")


def test_published_weights_open_by_their_publishers_names(monkeypatch: pytest.MonkeyPatch) -> None:
    import timm

    published = {
        name for name, entry in PRETRAINED.items() if entry.format == "timm" and not entry.is_shipped
    }
    assert published <= {*timm.list_pretrained()}
    create = timm.create_model
    monkeypatch.setattr(
        timm, "create_model", lambda name, **rest: create(name, **rest | {"pretrained": False})
    )
    for name in ("deit_tiny_patch16_224.fb_in1k", "vit_small_patch16_224.dino"):
        lines = write_usage(name, find(name).config)
        assert ("transformers" in lines) == ("logits" in lines) == bool(find(name).config.num_classes)
        timm_lines = lines.partition("\n# The same weights in transformers")[0]
        check_shapes(timm_lines, run(timm_lines))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vit_b_32", "swin_t"])
def test_torchvisions_weights_open_in_torchvision(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchvision import models

    build, lines = models.get_model, write_usage(name, find(name).config)
    monkeypatch.setattr(models, "get_model", lambda name, weights: build(name, weights=None))
    check_shapes(lines, run(lines))


def test_a_model_that_timm_lacks_opens_here_with_the_reason() -> None:
    lines = write_usage("cifar10_cnn", vitviz.load("cifar10_cnn").config)
    assert "only a ViT, DeiT or Swin has a counterpart in timm" in lines
    assert run(lines)["view"].prediction
    assert "residual" in write_usage("x", ViTConfig(residual=False))

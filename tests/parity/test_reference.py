"""The reference builds without a warning, and its snippets run on the publishers' own modules."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import vitviz
from vitviz.torchvision_fix import import_torchvision

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide"
TABS = dict(
    re.findall(
        r'=== "([^"]+)"\n\n    ```python\n(.*?)    ```', (GUIDE / "your_model.md").read_text(), re.DOTALL
    )
)
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "image_size": 32,
}


def build_transformers(name: str) -> Callable[[str], nn.Module]:
    """Return a `from_pretrained` that builds the class small and with random weights."""
    import transformers

    model_class = getattr(transformers, name)
    return lambda _: model_class(model_class.config_class(**SMALL, patch_size=8)).eval()


def list_names() -> dict[str, Any]:
    """Return what the snippets import: the libraries, whose weights are random and small here."""
    torchvision = import_torchvision()
    import open_clip
    import timm
    import vit_pytorch

    names = ("Dinov2Model", "DINOv3ViTModel", "CLIPVisionModel", "SiglipVisionModel")
    return {
        "vitviz": vitviz,
        "vit_pytorch": vit_pytorch,
        "timm": SimpleNamespace(
            create_model=lambda name, pretrained: timm.create_model(name, img_size=32, patch_size=8, depth=2)
        ),
        "transformers": SimpleNamespace(
            **{name: SimpleNamespace(from_pretrained=build_transformers(name)) for name in names}
        ),
        "torchvision": SimpleNamespace(
            models=SimpleNamespace(
                vit_b_16=lambda weights: torchvision.models.VisionTransformer(32, 8, 2, 2, 32, 64)
            )
        ),
        "open_clip": SimpleNamespace(
            create_model_and_transforms=lambda name, pretrained: open_clip.create_model_and_transforms(name)
        ),
        "Classifier": lambda: SimpleNamespace(
            net=timm.create_model("vit_tiny_patch16_224", img_size=32, depth=2)
        ),
    }


@pytest.fixture
def photo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    monkeypatch.chdir(tmp_path)
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 48, 3), np.uint8)).save("photo.jpg")


@pytest.mark.filterwarnings("ignore")  # of the libraries, about random weights
@pytest.mark.parametrize("library", TABS)
def test_three_lines_draw_attention(photo: None, library: str) -> None:
    lines = re.sub("^    ", "", TABS[library], flags=re.MULTILINE)
    assert lines.strip().count("\n") == 2
    names = list_names()
    exec(compile(lines, library, "exec"), names)
    assert names["view"].model.verified
    assert Path("attention.html").is_file() or "SigLIP" in library


def test_the_reference_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    command += ["-f", str(ROOT / "docs" / "mkdocs.yml"), "-d", str(tmp_path / "site")]
    built = subprocess.run(
        command, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=300
    )
    assert built.returncode == 0 and "WARNING" not in built.stderr, built.stderr
    api = (tmp_path / "site" / "api.html").read_text()
    for name in (
        "vitviz.load",
        "vitviz.inspect",
        "vitviz.record",
        "vitviz.Recorder.step",
        "vitviz.View.attention",
    ):
        assert f'id="{name}"' in api
    scripts = [path.stem for path in (ROOT / "findings").glob("*.sh")]
    assert all((tmp_path / "site" / "findings" / f"{name}.html").is_file() for name in scripts)

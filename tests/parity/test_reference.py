"""The reference builds without a warning, and its snippets run on the publishers' own modules."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import textwrap
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
from tests.rows import rows
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
@pytest.mark.parametrize("library", rows(TABS, lambda library: library != "open_clip"))
def test_three_lines_draw_attention(photo: None, library: str) -> None:
    lines = re.sub("^    ", "", TABS[library], flags=re.MULTILINE)
    assert lines.strip().count("\n") == 2
    names = list_names()
    exec(compile(lines, library, "exec"), names)
    assert names["view"].model.verified
    assert Path("attention.html").is_file() or "SigLIP" in library


DECLARED = {
    "model": "torch.nn.Module",
    "arguments": "Any",
    "step": "int",
    "loss": "torch.Tensor",
    "accuracy": "float",
    "loader": "list[tuple[torch.Tensor, torch.Tensor]]",
    "vitviz": "",
} | dict.fromkeys(
    ("timm", "transformers", "torchvision", "open_clip", "vit_pytorch", "Classifier", "Trainer"), "Any"
)


def write_module(lines: str) -> str:
    """Return a block of the documents as a module, with the names declared that its reader brings."""
    names = [node for node in ast.walk(ast.parse(lines)) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    declared = [
        f"{name}: {DECLARED[name]}" for name in sorted({n.id for n in names} - own) if DECLARED.get(name)
    ]
    return "\n".join(["from typing import Any", "import torch, vitviz", *declared, lines])


@pytest.mark.slow  # mypy in a process of its own
def test_every_line_of_the_documents_passes_a_strict_mypy(tmp_path: Path) -> None:
    blocks = []
    for path in (ROOT / "README.md", *sorted(GUIDE.glob("*.md"))):
        blocks += re.findall(r"^ *```python\n(.*?)^ *```", path.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 15
    for number, block in enumerate(blocks):
        (tmp_path / f"block{number}.py").write_text(write_module(textwrap.dedent(block)))
    (tmp_path / "wrong.py").write_text(
        "import vitviz\nvitviz.inspect('digits_vit', 'a.png').attention(layer='x')\n"
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--config-file",
        os.devnull,
    ]
    command += ["--cache-dir", str(tmp_path / "cache"), str(tmp_path)]
    env = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=280)
    errors = done.stdout.splitlines()
    assert len(errors) == 2 and "wrong.py:2" in errors[0] and "Found 1 error" in errors[1], done.stdout


@pytest.mark.slow
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

"""The browser's engine computes what the models compute: node runs its tests on cases that are written here."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from tests.engine_cases import LACKING, LACKING_SWIN, LARGE, write_cases
from vitviz.checkpoint_header import read_header
from vitviz.config import CNNConfig, SwinConfig, ViTConfig, to_dict
from vitviz.plots.live_explorer import runs_in_browser

ROOT = Path(__file__).resolve().parents[2]
OLDEST = 20
LIMIT_S = 300


def node() -> str | None:
    """Path of a node that is new enough."""
    path = shutil.which("node")
    if path is None:
        return None
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    return path if int(version.lstrip("v").split(".")[0]) >= OLDEST else None


def test_every_later_field_is_one_that_the_engine_refuses() -> None:
    """A field that `to_dict` leaves out at its default was added after the engine: its other values are cases."""
    for cls, lacking in ((ViTConfig, LACKING), (SwinConfig, LACKING_SWIN), (CNNConfig, {})):
        later = {field.name: field.default for field in fields(cls) if field.metadata.get("later")}
        assert later.keys() <= lacking.keys(), cls
        for name, default in later.items():
            assert lacking[name] and default not in lacking[name], name
            assert name not in to_dict(cls())


def test_only_weights_that_the_engine_runs_are_published() -> None:
    """A downloaded page held 10 MB of the wide CNN, which its engine then refused."""
    for path in (ROOT / "checkpoints").glob("*.safetensors"):
        assert runs_in_browser(read_header(path).config) == (path.stem not in LARGE), path.stem


def test_the_engine_computes_what_torch_computes(tmp_path: Path) -> None:
    path = node()
    if path is None:
        reason = f"node {OLDEST} or newer is not installed"
        if os.environ.get("VITVIZ_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    write_cases(tmp_path)
    ran = subprocess.run(
        [path, "--test", "tests/engine/"],
        cwd=ROOT,
        env={**os.environ, "VITVIZ_CASES": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-10_000:] + ran.stderr
    assert "\n# fail 0" in ran.stdout
    assert "\n# pass 0" not in ran.stdout

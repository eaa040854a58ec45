"""Models, inputs and results live where they are asked for: on a fake device, on CUDA where there is one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import vitviz
from tests.random_models import random_model
from vitviz.cli import main
from vitviz.config import ViTConfig
from vitviz.devices import choose_device, place_model

ROOT = Path(__file__).resolve().parents[2]
IMAGE = np.random.default_rng(0).integers(0, 256, (40, 48, 3), np.uint8)


@pytest.mark.slow  # a process of its own
def test_everything_runs_on_a_fake_device_and_returns_to_the_cpu() -> None:
    command = [sys.executable, str(ROOT / "tests" / "fake_device.py")]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[0]) > 1000  # operations on the device


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"device": "nowhere"}, "device must be 'cpu', 'cuda', 'cuda:1' or 'mps', received 'nowhere'"),
        ({"device": "cuda:99"}, "this machine has no device 'cuda:99'; it has: 1 × cpu"),
        ({"device": torch.device("meta")}, "this machine has no device 'meta'"),
        ({"dtype": "int8"}, "dtype must be one of float32, bfloat16, float16, received 'int8'"),
        ({"dtype": torch.float64}, "received torch.float64"),
    ],
)
def test_a_device_or_format_that_is_not_there_is_one_sentence(
    settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError) as raised:
        vitviz.load("digits_vit", **settings)
    assert message in str(raised.value)
    with pytest.raises(TypeError, match="device must be a name"):
        choose_device(0)  # type: ignore[arg-type]


def test_the_shell_takes_devices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.png"
    Image.fromarray(IMAGE).save(file)
    assert main(["distance", str(file), "--device", "cpu", "--dtype", "bfloat16"]) == 0
    for command in ("attention", "distance", "tokens"):
        assert main([command, str(file), "--device", "cuda:99"]) == 1
        assert "vitviz: this machine has no device 'cuda:99'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["train", "digits_vit", "--device", "cuda:99", "--out", str(tmp_path / "a.safetensors")])
    assert "error: this machine has no device 'cuda:99'" in capsys.readouterr().err


@pytest.mark.parametrize("positions", ["learned", "sincos_2d_concat", "rotary"])
def test_a_model_in_bfloat16_returns_fp32_close_to_its_own(positions: str) -> None:
    config = ViTConfig(32, 8, embed_dim=32, depth=2, num_heads=2, positions=positions, num_classes=3)
    model = random_model(config)
    exact = vitviz.inspect(model, IMAGE)
    half = vitviz.inspect(exact.model, IMAGE, dtype="bfloat16")
    assert {tensor.dtype for tensor in half.model.model.parameters()} == {torch.bfloat16}
    assert {tensor.dtype for tensor in exact.model.model.parameters()} == {torch.float32}
    assert half.model.digest != exact.model.digest and exact.tokens().dtype == np.float32
    assert half.attention().dtype == half.tokens().dtype == np.float32
    np.testing.assert_allclose(half.attention(), exact.attention(), atol=0.01)
    again = vitviz.load(half.model)
    assert again.model is half.model.model and place_model(again, torch.device("cpu")) is again


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_view_on_cuda_equals_the_cpus() -> None:
    near, far = (vitviz.inspect("digits_vit", IMAGE, device=name) for name in ("cpu", "cuda"))
    assert next(far.model.model.parameters()).is_cuda
    assert vitviz.load(far.model.model).model.get_parameter("cls_token").is_cuda
    np.testing.assert_allclose(far.attention(), near.attention(), atol=2e-3)  # convolutions in TF32
    np.testing.assert_allclose(far.relevance(), near.relevance(), atol=1e-2)

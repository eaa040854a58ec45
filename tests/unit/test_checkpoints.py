"""Checkpoints carry everything, come back bit for bit, and are read cheaply."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load, load_file

from tests.unit.training_helpers import MODEL, PREPARATION, TRAIN
from vitviz.checkpoint_header import CheckpointError, read_header, take_step
from vitviz.checkpoints import Checkpoint, checkpoint_bytes, load_checkpoint, open_model, save_checkpoint
from vitviz.config import CNNConfig, ModelConfig
from vitviz.models.zoo import create_model


def example(config: ModelConfig = MODEL, steps: tuple[int, ...] = (0, 7)) -> Checkpoint:
    states = {step: create_model(config, seed=step).state_dict() for step in steps}
    return Checkpoint(
        config,
        PREPARATION,
        TRAIN,
        ("left", "right"),
        [{"kind": "step", "step": 7}],
        states,
        {"title": "a toy"},
    )


@pytest.mark.parametrize(
    "config", [MODEL, CNNConfig(image_size=8, in_chans=1, num_classes=2, widths=(4,), blocks=(1,))]
)
def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path, config: ModelConfig) -> None:
    path, sent = tmp_path / "a.safetensors", example(config)
    save_checkpoint(path, sent)
    came = load_checkpoint(path)
    for field in ("config", "preparation", "train", "classes", "history", "card"):
        assert getattr(came, field) == getattr(sent, field)
    assert list(came.snapshots) == [7]
    for step, state in sent.snapshots.items():
        (back,) = load_checkpoint(path, step).snapshots.values()
        for name, tensor in state.items():
            assert torch.equal(tensor, back[name]), name
    assert [path] == list(tmp_path.iterdir())


def test_the_header_is_read_without_the_tensors(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_checkpoint(path, example())
    assert torch.equal(load_file(path)["7/head.weight"], example().snapshots[7]["head.weight"])
    header = read_header(path)
    assert (header.config, header.steps, header.card["title"]) == (MODEL, (0, 7), "a toy")
    assert header == read_header(path.read_bytes())
    assert len(header.digest) == 64


def test_the_last_step_is_the_default_and_others_are_named() -> None:
    data = checkpoint_bytes(example())
    assert list(load_checkpoint(data).snapshots) == [7]
    assert list(load_checkpoint(data, 0).snapshots) == [0]
    with pytest.raises(CheckpointError, match="steps 0, 7, received 3"):
        load_checkpoint(data, 3)


def test_half_precision_is_half_the_bytes_and_loads_as_fp32() -> None:
    full, half = checkpoint_bytes(example()), checkpoint_bytes(example(), half=True)
    assert len(half) < 0.75 * len(full)
    state = load_checkpoint(half).snapshots[7]
    assert all(tensor.dtype == torch.float32 for tensor in state.values())
    torch.testing.assert_close(
        state["head.weight"], example().snapshots[7]["head.weight"], atol=1e-4, rtol=1e-3
    )


def test_an_opened_model_is_frozen_and_says_where_it_comes_from() -> None:
    loaded = open_model(checkpoint_bytes(example()), 0)
    assert (loaded.title, loaded.trained_on, loaded.step, loaded.classes) == (
        "a toy",
        "digits",
        0,
        ("left", "right"),
    )
    assert not loaded.model.training and not any(p.requires_grad for p in loaded.model.parameters())
    other = open_model(checkpoint_bytes(example()), 7)
    assert other.digest != loaded.digest


def test_weights_that_are_no_numbers_are_not_saved() -> None:
    broken = example()
    broken.snapshots[7]["head.bias"][0] = float("nan")
    with pytest.raises(CheckpointError, match="head.bias at step 7"):
        checkpoint_bytes(broken)
    huge = example()
    huge.snapshots[7]["head.bias"][0] = 1e6
    with pytest.raises(CheckpointError, match="head.bias at step 7"):
        checkpoint_bytes(huge, half=True)


def test_one_step_is_taken_from_a_checkpoint_as_it_is_stored() -> None:
    raw = checkpoint_bytes(example(), half=True)
    taken = load(take_step(raw, 7))
    assert taken.keys() == {name for name in load(raw) if name.startswith("7/")}
    for name, tensor in taken.items():
        assert tensor.dtype == load(raw)[name].dtype and torch.equal(tensor, load(raw)[name])
    with pytest.raises(CheckpointError, match="step 3"):
        take_step(raw, 3)

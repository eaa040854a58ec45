"""Test that weights keep their identity in every file, and that old digests still find them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.robustness.test_checkpoints import build, parts
from tests.unit.training_helpers import MODEL, PREPARATION, TRAIN
from vitviz.checkpoint_header import CheckpointError, read_header
from vitviz.checkpoints import Checkpoint, checkpoint_bytes, load_checkpoint, open_model
from vitviz.int8_weights import dequantise, quantise
from vitviz.models.zoo import create_model
from vitviz.weight_identity import compute_identity, is_identity, resolve_identity

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
STATES = {
    step: {
        name: tensor.half().float() for name, tensor in create_model(MODEL, seed=step).state_dict().items()
    }
    for step in (0, 7)
}
STORED = Checkpoint(MODEL, PREPARATION, TRAIN, ("left", "right"), [], STATES, {"title": "a toy"})


def test_fp16_and_fewer_steps_keep_the_identity() -> None:
    whole = read_header(checkpoint_bytes(STORED)).identities
    half = read_header(checkpoint_bytes(STORED, half=True)).identities
    last = read_header(checkpoint_bytes(replace(STORED, snapshots={7: STATES[7]}, card={}))).identities
    assert whole == half and last == {7: whole[7]} and whole[0] != whole[7]
    assert open_model(checkpoint_bytes(STORED), 7).digest == whole[7]


def test_int8_changes_only_its_own_step() -> None:
    whole = read_header(checkpoint_bytes(STORED, half=True)).identities
    small = read_header(checkpoint_bytes(STORED, half=True, int8_steps=(0,))).identities
    assert small[7] == whole[7] and small[0] != whole[0]


def test_config_preparation_and_each_weight_count() -> None:
    tensors = {"a": np.zeros((2, 3), np.float32)}
    plain = compute_identity(MODEL, PREPARATION, tensors.items())
    assert is_identity(plain)
    others = [
        compute_identity(replace(MODEL, num_heads=1), PREPARATION, tensors.items()),
        compute_identity(MODEL, replace(PREPARATION, mean=(0.25,)), tensors.items()),
        compute_identity(MODEL, PREPARATION, {"b": tensors["a"]}.items()),
        compute_identity(MODEL, PREPARATION, {"a": tensors["a"].reshape(3, 2)}.items()),
        compute_identity(MODEL, PREPARATION, {"a": np.eye(2, 3, dtype=np.float32)}.items()),
    ]
    assert len({plain, *others}) == 6


def test_a_false_identity_is_refused() -> None:
    """Results are cached by identity, so that a file must not claim another's."""
    true, other = (read_header(checkpoint_bytes(STORED)).identities[step] for step in (7, 0))
    table, data = parts(checkpoint_bytes(STORED))
    table["__metadata__"]["vitviz"] = table["__metadata__"]["vitviz"].replace(true, other)
    with pytest.raises(CheckpointError, match="not those of their stated identity"):
        load_checkpoint(build(table, data), 7)


def test_old_digests_find_the_weights_that_they_named() -> None:
    """The table was computed from the files of format 1; the last step of every shipped file is unchanged."""
    stored = json.loads((CHECKPOINTS / "distillation.json").read_text("utf-8"))
    digests = stored["students"]["cifar10_deit_soft"]["digests"]
    assert set(digests) == {"cifar10_deit_soft", "cifar10_cnn", "cifar10_vit"}
    for name, digest in digests.items():
        header = read_header(CHECKPOINTS / f"{name}.safetensors")
        assert resolve_identity(digest) == resolve_identity(f"{digest}:{header.steps[-1]}") == header.identity
        assert open_model(CHECKPOINTS / f"{name}.safetensors").digest == header.identity
    student = read_header(CHECKPOINTS / "cifar10_deit_soft.safetensors")
    teacher = read_header(CHECKPOINTS / "cifar10_cnn.safetensors")
    assert resolve_identity(student.card["teacher"]) == teacher.identity


def test_the_table_holds_what_the_shipped_tensors_compute() -> None:
    path = CHECKPOINTS / "mnist_vit.safetensors"
    checkpoint = load_checkpoint(path)
    (state,) = checkpoint.snapshots.values()
    tensors = ((name, tensor.numpy()) for name, tensor in state.items())
    identity = compute_identity(checkpoint.config, checkpoint.preparation, tensors)
    assert read_header(path).identity == identity


def test_unknown_names_are_returned_unchanged() -> None:
    assert resolve_identity("") == "" and resolve_identity("abc:9") == "abc:9"


@pytest.mark.parametrize(
    "rows", [torch.zeros(2, 3), torch.tensor([[1.0, -2.0], [0.0, 0.5]]), torch.randn(3, 2, 4, 4)]
)
def test_int8_weights_lie_within_half_a_step(rows: torch.Tensor) -> None:
    codes, scales = quantise(rows)
    assert codes.dtype == torch.int8 and scales.shape == rows.shape[:1] and bool((scales > 0).all())
    error = (dequantise(codes, scales) - rows).abs().flatten(1).amax(1)
    assert bool((error <= scales / 2 * 1.001).all())


def test_one_row_in_int8_by_hand() -> None:
    """The largest value is 2.54: a step is 0.02, so 1 becomes 50 steps and 0.015 one."""
    codes, scales = quantise(torch.tensor([[-2.54, 1.0, 0.015]]))
    assert codes.tolist() == [[-127, 50, 1]] and scales.item() == pytest.approx(0.02)
    torch.testing.assert_close(dequantise(codes, scales), torch.tensor([[-2.54, 1.0, 0.02]]))

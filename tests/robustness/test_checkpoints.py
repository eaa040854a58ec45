"""Checkpoints that a stranger, a broken disk or another version made: refused whole, in one sentence."""

from __future__ import annotations

import json
import pickle
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vitviz import checkpoints
from vitviz.checkpoint_header import CheckpointError, read_header
from vitviz.checkpoints import Checkpoint, checkpoint_bytes, load_checkpoint
from vitviz.checkpoints import _digest as digest
from vitviz.config import ModelConfig, Preparation, SwinConfig, TrainConfig, ViTConfig
from vitviz.models.zoo import create_model
from vitviz.upload_limits import check_buildable

MODEL = ViTConfig(image_size=8, patch_size=4, in_chans=1, num_classes=2, embed_dim=8, depth=1, num_heads=2)
TOY = Checkpoint(
    MODEL,
    Preparation(image_size=8, mean=(0.5,), std=(0.5,)),
    TrainConfig(),
    ("left", "right"),
    [],
    {3: create_model(MODEL, seed=0).state_dict()},
    {"title": "a toy"},
)
GOOD = checkpoint_bytes(TOY)
INT8 = checkpoint_bytes(TOY, int8_steps=(3,))


def parts(data: bytes = GOOD) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def build(table: dict[str, Any], data: bytes) -> bytes:
    table["__metadata__"]["digest"] = digest(table["__metadata__"]["vitviz"], table, data)
    header = json.dumps(table).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data


def with_document(change: Callable[[dict[str, Any]], object], good: bytes = GOOD) -> bytes:
    table, data = parts(good)
    document = json.loads(table["__metadata__"]["vitviz"])
    change(document)
    table["__metadata__"]["vitviz"] = json.dumps(document)
    return build(table, data)


def with_table(change: Callable[[dict[str, Any]], object]) -> bytes:
    table, data = parts()
    change(table)
    return build(table, data)


def refusal(data: bytes) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(data)
    return str(caught.value)


def test_the_rebuilt_good_file_loads() -> None:
    assert list(load_checkpoint(build(*parts())).snapshots) == [3]


@pytest.mark.parametrize("kept", [0, 5, 8, 200, len(GOOD) - 1])
def test_truncated_files_are_refused(kept: int) -> None:
    assert "truncated" in refusal(GOOD[:kept])


def test_a_changed_weight_is_named_as_tampering() -> None:
    assert "digest" in refusal(GOOD[:-1] + bytes([GOOD[-1] ^ 64]))


class Trap:
    """Whoever unpickles it opens it."""

    opened: ClassVar[list[int]] = []

    def __reduce__(self) -> tuple[Callable[[int], None], tuple[int]]:
        return spring, (1,)


def spring(times: int) -> None:
    Trap.opened.append(times)


def test_pickles_and_other_files_are_not_even_opened() -> None:
    trap = pickle.dumps(Trap())
    pickle.loads(trap)
    assert Trap.opened == [1]
    for data in (trap, b"PK\x03\x04" + bytes(100), b"\x89PNG" + bytes(64), bytes(64)):
        refusal(data)
    assert Trap.opened == [1]


def test_too_large_a_file_is_refused_by_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "big.safetensors"
    with open(path, "wb") as file:
        file.truncate(2**40)  # sparse
    with pytest.raises(CheckpointError, match="too large"):
        load_checkpoint(path)
    with pytest.raises(CheckpointError, match="too large"):
        monkeypatch.setattr(checkpoints, "CHECKPOINT_BYTES", 100)
        load_checkpoint(GOOD)


def test_a_missing_file_is_reported_in_a_sentence(tmp_path: Path) -> None:
    for read in (load_checkpoint, read_header):
        with pytest.raises(CheckpointError, match="cannot be read"):
            read(tmp_path / "none.safetensors")


@pytest.mark.parametrize("length", [0, 1, 2**32, 2**63, 2**64 - 1])
def test_a_header_length_that_lies_is_refused(length: int) -> None:
    refusal(length.to_bytes(8, "little") + GOOD[8:])


def test_a_deeply_nested_header_or_document_is_refused() -> None:
    header = (b"[" * 200_000).ljust(200_000)
    assert "not a checkpoint" in refusal(len(header).to_bytes(8, "little") + header + bytes(16))
    nested = {"vitviz": '{"format":' + "[" * 100_000}
    assert "not a checkpoint" in refusal(with_table(lambda table: table["__metadata__"].update(nested)))


def test_another_version_is_named() -> None:
    assert "received 99" in refusal(with_document(lambda document: document.update(format=99)))


def test_missing_unexpected_and_misshapen_weights_are_named() -> None:
    reason = refusal(
        with_document(
            lambda d: d["config"].update(embed_dim=16, positions="none", readout="mean", num_registers=1)
        )
    )
    assert "missing: reg_token" in reason
    assert "unexpected: cls_token, pos_embed" in reason
    assert "misshapen" in reason and "instead of" in reason


@pytest.mark.parametrize(
    "change",
    [
        {"depth": 10**9},
        {"embed_dim": 2**40, "num_heads": 1},
        {"image_size": 2**20},
        {"mlp_ratio": 1e300},
        {"mlp_ratio": "wide"},
        {"image_size": 2048, "patch_size": 1, "embed_dim": 4096},
        {"num_heads": 0},
        {"kind": "train"},
        {"kind": "os.system"},
        {"surprise": 1},
    ],
)
def test_configs_out_of_proportion_are_never_built(change: dict[str, Any]) -> None:
    refusal(with_document(lambda document: document["config"].update(change)))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda table: {"data_offsets": table["3/cls_token"]["data_offsets"]}, "inconsistent"),
        (lambda table: {"dtype": "F16"}, "inconsistent"),
        (lambda table: {"dtype": "I64", "shape": [1]}, "misshapen: head.bias"),
    ],
)
def test_overlapping_tensors_and_types_that_lie_are_refused(
    change: Callable[[dict[str, Any]], dict[str, Any]], reason: str
) -> None:
    assert reason in refusal(with_table(lambda table: table["3/head.bias"].update(change(table))))


@pytest.mark.parametrize("shape", [[-2], [2.0], "2", [True, 2], None, [2**70]])
def test_shapes_that_are_none_are_refused(shape: object) -> None:
    refusal(with_table(lambda table: table["3/head.bias"].update(shape=shape)))


@pytest.mark.parametrize("name", ["x/head.bias", "head.bias", "-1/head.bias", "3/", "9" * 5000 + "/a"])
def test_tensor_names_without_a_step_are_refused(name: str) -> None:
    refusal(with_table(lambda table: table.update({name: table.pop("3/head.bias")})))


def test_weights_that_are_not_numbers_are_refused() -> None:
    table, data = parts()
    start, _ = table["3/head.bias"]["data_offsets"]
    for poison in (b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f"):
        assert "not finite" in refusal(build(*parts()[:1], data[:start] + poison + data[start + 4 :]))


WEIGHT, SCALES = "3/head.weight", "3/head.weight.scale"


def test_int8_weights_are_read_as_fp32() -> None:
    weight = load_checkpoint(build(*parts(INT8))).snapshots[3]["head.weight"]
    exact = TOY.snapshots[3]["head.weight"]
    assert (
        weight.dtype == exact.dtype and float((weight - exact).abs().max()) < float(exact.abs().max()) / 250
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({WEIGHT: {"dtype": "F16", "shape": [2, 4]}}, "3.*belongs to no int8 weights"),
        ({SCALES: {"shape": [1, 2]}}, r"expected 2 scales of head.weight .* received \[1, 2\] in F32"),
        ({SCALES: {"dtype": "F16", "shape": [4]}}, r"one per output row, received \[4\] in F16"),
        ({SCALES: {"dtype": "I64", "shape": [1]}}, "in I64"),
        ({SCALES: {"dtype": "I8", "shape": [8]}}, "in I8|no matrix"),
        ({WEIGHT: {"shape": [16]}}, "no matrix"),
        ({WEIGHT: {"shape": [8, 2]}}, "expected 8 scales"),
        ({WEIGHT: {"shape": [2, 2, 4]}}, "misshapen"),
    ],
)
def test_scales_that_do_not_fit_are_refused(change: dict[str, dict[str, Any]], reason: str) -> None:
    table, data = parts(INT8)
    for name, entries in change.items():
        table[name] |= entries
    assert re.search(reason, refusal(build(table, data)))


@pytest.mark.parametrize(
    ("scale", "reason"),
    [
        *(
            (scale, "head.weight at step 3 must be finite and above 0")
            for scale in (0.0, -1.0, float("nan"), float("inf"), float("-inf"))
        ),
        (3e38, "not finite"),  # it overflows
    ],
)
def test_scales_that_are_not_finite_and_positive_are_refused(scale: float, reason: str) -> None:
    table, data = parts(INT8)
    start, _ = table[SCALES]["data_offsets"]
    assert reason in refusal(build(table, data[:start] + struct.pack("<f", scale) + data[start + 4 :]))


def test_missing_and_orphan_scales_are_named() -> None:
    table, data = parts(INT8)
    table = {("3/head.other.scale" if name == SCALES else name): entry for name, entry in table.items()}
    assert "head.weight at step 3 is int8, but its scales are missing" in refusal(build(table, data))
    table, data = parts(GOOD)
    orphan = {"dtype": "F32", "shape": [0], "data_offsets": [len(data)] * 2}
    metadata = {"__metadata__": table.pop("__metadata__")}
    table |= {SCALES: orphan} | metadata
    assert "head.weight.scale at step 3 belongs to no int8 weights" in refusal(build(table, data))


def test_int8_is_none_of_format_1() -> None:
    assert "inconsistent" in refusal(with_document(lambda document: document.update(format=1), INT8))


@pytest.mark.parametrize("identities", [None, [], {}, {"3": "0" * 63}, {"3": 7}, {"4": "0" * 64}])
def test_identities_that_are_none_are_refused(identities: object) -> None:
    assert "identit" in refusal(with_document(lambda document: document.update(identities=identities)))


def test_format_1_is_read_and_named_by_its_digest() -> None:
    old = with_document(lambda document: (document.pop("identities"), document.update(format=1)))
    header = read_header(old)
    assert header.identities == {3: f"{header.digest}:3"} and load_checkpoint(old).identity == header.identity


@pytest.mark.parametrize("good", [GOOD, INT8], ids=["fp32", "int8"])
@settings(max_examples=60, deadline=None)
@given(share=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_any_changed_byte_is_refused(good: bytes, share: float, flip: int) -> None:
    place = int(share * len(good))
    refusal(good[:place] + bytes([good[place] ^ flip]) + good[place + 1 :])


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400))
def test_noise_is_always_refused(noise: bytes) -> None:
    refusal(noise)
    refusal(GOOD[:8] + noise)


def test_even_white_space_in_the_header_counts() -> None:
    place = GOOD.index(b", ") + 1
    assert "digest" in refusal(GOOD[:place] + b"\t" + GOOD[place + 1 :])


def test_a_strangers_words_are_cut_in_a_sentence() -> None:
    long = "x" * 1_000_000
    for change in (
        lambda document: document["config"].update(positions=long),
        lambda document: document.update(format=long),
        lambda document: document.update(classes=[long, "b"]),
    ):
        assert len(refusal(with_document(change))) < 500


@pytest.mark.parametrize(
    "config",
    [
        SwinConfig(window_size=64),
        ViTConfig(depth=600),
        ViTConfig(image_size=2048, patch_size=1, positions="sincos_1d"),
    ],
)
def test_what_takes_long_to_lay_out_is_refused(config: ModelConfig) -> None:
    with pytest.raises(ValueError, match="offsets|at most 512 layers|positions of width"):
        check_buildable(config, 40_000)

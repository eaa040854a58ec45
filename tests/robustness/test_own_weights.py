"""Weights that a user brings: opened where they fit, else refused whole in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from pages.stores import own_weights
from pages.stores.session import UserSession
from tests.robustness.fuzz.watch import LONGEST_S, MOST_BYTES
from vitviz.malloc import give_back
from vitviz.models import pretrained_list
from vitviz.models.formats import open_model
from vitviz.models.formats.safetensors_header import MAX_CLASSES, PickledWeightsError, check_header
from vitviz.models.formats.uploaded_weights import TemporaryFolder, remove_leftovers
from vitviz.models.presets import PRESETS
from vitviz.models.pretrained_list import PretrainedError
from vitviz.models.zoo import create_model, empty_model
from vitviz.probe.capture import capture

TINY = "deit_tiny_patch16_224"
SWIN = "swin_tiny_patch4_window7_224"


def tensors(name: str, classes: int = 7, seed: int = 0) -> dict[str, torch.Tensor]:
    config = replace(pretrained_list.find(name).config, num_classes=classes)
    return dict(create_model(config, seed=seed).state_dict())


GOOD = tensors(TINY)


def refusal(raw: bytes) -> str:
    with pytest.raises(PretrainedError) as caught:
        open_model(raw)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def with_header(table: object, data: bytes = b"") -> bytes:
    text = json.dumps(table).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize("classes", [0, 7, 1000])
def test_the_head_says_how_many_classes(classes: int) -> None:
    opened = open_model(save(tensors(TINY, classes)))
    assert len(opened.classes) == classes == opened.config.num_classes
    # A thousand classes are not ImageNet's unless the file's labels say so.
    assert opened.classes == tuple(map(str, range(classes)))


def test_what_it_computes_is_what_its_tensors_compute() -> None:
    opened = open_model(save(GOOD))
    own = create_model(opened.config).eval()
    own.load_state_dict(GOOD)
    image = np.random.default_rng(0).normal(size=(1, 3, 224, 224)).astype(np.float32)
    np.testing.assert_allclose(
        capture(opened.model, image, record=False).logits, capture(own, image, record=False).logits, atol=1e-5
    )


def test_one_file_with_two_preparations_is_two_models() -> None:
    raw = save(GOOD)
    one, other = open_model(raw), open_model(raw, {"mean": [0.5] * 3, "std": [0.5] * 3})
    assert one.preparation != other.preparation and one.digest != other.digest


def test_a_swin_with_another_head() -> None:
    opened = open_model(save({name: t.half() for name, t in tensors(SWIN, 5).items()}))
    assert len(opened.classes) == 5


def test_wrong_shapes_of_the_head_are_named() -> None:
    assert "the head must have the shape" in refusal(save(GOOD | {"head.weight": torch.zeros(4)}))
    assert "head.bias has the shape (8,), expected (7,)" in refusal(
        save(GOOD | {"head.bias": torch.zeros(8)})
    )


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("weights.pth", GOOD),
        ("weights.pth", {"model": GOOD}),
        ("weights.pth", {"state_dict": GOOD}),
        (
            "model.ckpt",
            {
                "pytorch-lightning_version": "2.6",
                "state_dict": {f"model.{key}": value for key, value in GOOD.items()},
            },
        ),
    ],
    ids=["plain", "model", "state_dict", "lightning"],
)
def test_the_lines_that_convert_a_pickle_do(
    name: str, saved: dict[str, object], tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(saved, name)
    with pytest.raises(PickledWeightsError, match="on your own machine") as caught:
        open_model((tmp_path / name).read_bytes() if name.endswith("pth") else tmp_path / name)
    exec(caught.value.convert, {})
    converted = (tmp_path / name).with_suffix(".safetensors")
    assert len(open_model(converted.read_bytes()).classes) == 7


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (
            '{"head.weight": {"shape": [1e999], "dtype": "F32", "data_offsets": [0, 4]}}',
            "must hold whole numbers",
        ),
        ('{"a": {"shape": [true], "dtype": "F32", "data_offsets": [0, 4]}}', "must hold whole numbers"),
        ('{"a": {"shape": [-1], "dtype": "F32", "data_offsets": [0, 4]}}', "must hold whole numbers"),
        ('{"a": {"shape": "12", "dtype": "F32", "data_offsets": [0, 4]}}', "a list of up to 8 sides"),
        (
            '{"a": {"shape": [1,1,1,1,1,1,1,1,1], "dtype": "F32", "data_offsets": [0, 4]}}',
            "a list of up to 8 sides",
        ),
        (
            '{"%s": {"shape": [1], "dtype": "F32", "data_offsets": [0, 4]}}' % ("x" * 900_000),
            "one of 900,000: xx",
        ),
        ('{"a": {"shape": [1], "dtype": "%s", "data_offsets": [0, 4]}}' % ("F" * 900_000), "received FFF"),
    ],
    ids=lambda value: value[:20],
)
def test_a_header_of_odd_values_makes_one_short_sentence(header: str, why: str) -> None:
    raw = len(header).to_bytes(8, "little") + header.encode() + b"1234"
    returned = refusal(raw)
    assert why in returned and len(returned) < 400


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00" * 64,
        b"\xff" * 64,
        save(GOOD)[:1000],
        save(GOOD) + b"more",
        with_header([]),
        with_header({}),
        with_header({"a": 1}),
        with_header({"a": {"shape": None, "dtype": "F32", "data_offsets": [0, 4]}}),
        with_header({"a": {"shape": [1 << 60], "dtype": "F32", "data_offsets": [0, 4]}}, b"1234"),
        with_header(
            {"head.weight": {"shape": [1 << 40, 2], "dtype": "F32", "data_offsets": [0, 4]}}, b"1234"
        ),
        b"[" * (1 << 16),
        (1 << 16).to_bytes(8, "little") + b"[" * (1 << 16),
        (5 << 20).to_bytes(8, "little") + b" " * (5 << 20),
    ],
    ids=lambda raw: f"{len(raw)} bytes",
)
def test_what_is_no_safetensors_file_is_refused(raw: bytes) -> None:
    refusal(raw)


def test_a_head_of_too_many_classes_is_refused() -> None:
    many = {"head.weight": torch.zeros(MAX_CLASSES + 1, 192), "head.bias": torch.zeros(MAX_CLASSES + 1)}
    assert "at most 30,000 classes" in refusal(save(GOOD | many))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 4000), st.integers(1, 255))
def test_a_changed_byte_of_the_header_is_refused_or_harmless(place: int, flip: int) -> None:
    raw = bytearray(SMALL)
    raw[place % len(raw)] ^= flip
    try:
        check_header(bytes(raw))
    except PretrainedError as error:
        assert "\n" not in str(error)


SMALL = save({"head.weight": torch.zeros(3, 4), "norm.bias": torch.zeros(4)})


@pytest.mark.parametrize(("name", "dtype"), [("vit_base_16", torch.half), ("swin_tiny", torch.float)])
def test_the_largest_uploads_take_little_memory_beyond_their_file(name: str, dtype: torch.dtype) -> None:
    """16-bit weights are stored with 32 bits, and mapped from there: 110 MB left 225 MB."""
    config = PRESETS[name].config
    model = empty_model(replace(config, depth=8) if name == "vit_base_16" else config)
    data = save({key: torch.zeros(value.shape, dtype=dtype) for key, value in model.state_dict().items()})
    assert 100 < len(data) / 2**20 < 128
    give_back()
    before, peak, over = unmapped_bytes(), [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.002):
            peak[0] = max(peak[0], unmapped_bytes())

    thread, began_s = threading.Thread(target=watch), time.process_time()
    thread.start()
    own_weights.open_weights(UserSession("token"), "model.safetensors", data, 128)
    seconds, left = time.process_time() - began_s, unmapped_bytes() - before
    over.set()
    thread.join()
    assert seconds < LONGEST_S and peak[0] - before < MOST_BYTES and left < 20 * 2**20


def unmapped_bytes() -> int:
    """Return the memory of this process that is no page of a file."""
    return 1024 * int(Path("/proc/self/status").read_text().partition("RssAnon:")[2].split()[0])


HOLDS = """
import sys
from vitviz.models.formats.uploaded_weights import TemporaryFolder
folder = TemporaryFolder()
(folder.path / "mapped.weights").write_bytes(bytes(1000))
print(folder.path, flush=True)
sys.stdin.read()
"""


def test_weights_of_a_killed_process_are_deleted_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2 GB of them would stay, on disk or in a tmpfs."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    own = TemporaryFolder()
    process = subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdin is not None
    with process, process.stdout, process.stdin:
        other = Path(process.stdout.readline().decode().strip())
        remove_leftovers()
        assert (other / "mapped.weights").is_file() and own.path.is_dir()  # both live
        process.kill()
        process.wait()
    remove_leftovers()
    assert {path.name for path in tmp_path.iterdir()} == {own.path.name, f"{own.path.name}.lock"}
    own.delete()
    assert list(tmp_path.iterdir()) == []

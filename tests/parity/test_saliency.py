"""Test DINOv2-S/14 for saliency, as shipped in int8, against what the original graph computes in fp32.

`checkpoints/make_dinov2_small_saliency.py` stored the reference: [CLS]'s attention in all heads, and one final token in
four, of three photos.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from skimage import data

from vitviz import load
from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import open_model
from vitviz.data.image_preprocessing import prepare
from vitviz.models import published_weights
from vitviz.models.formats import apply_given
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.pretrained_list import PretrainedError, find
from vitviz.models.published_weights import SHIPPED, SHIPPED_FOLDERS

REFERENCE = Path(__file__).with_name("saliency_reference.npz")
FILE = SHIPPED_FOLDERS[0] / f"{SHIPPED}.safetensors"
PHOTOS = {"cat": data.chelsea, "astronaut": data.astronaut, "coffee": data.coffee}
EVERY = 4


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    return load(SHIPPED)


def run(model: LoadedModel, photo: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return [CLS]'s attention (layers, heads, tokens) and the final tokens."""
    x = torch.from_numpy(prepare(photo, model.preparation).input[None])
    with torch.inference_mode():
        _, recorded = model.model(x, record=("blocks.*.attn", "norm"))
    maps = [recorded[f"blocks.{layer}.attn"][0, :, 0] for layer in range(12)]
    return torch.stack(maps).numpy(), recorded["norm"][0].numpy()


def cosine(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(ours, axis=-1) * np.linalg.norm(theirs, axis=-1)
    return np.asarray((ours * theirs).sum(-1) / norms)


@pytest.mark.parametrize("photo", PHOTOS)
def test_int8_computes_what_the_original_graph_computes(model: LoadedModel, photo: str) -> None:
    with np.load(REFERENCE) as reference:
        attention, tokens = reference[f"{photo}_attention"], reference[f"{photo}_tokens"]
    np.testing.assert_allclose(attention.sum(-1), 1, atol=1e-5)
    ours, final = run(model, PHOTOS[photo]())
    assert ours.shape == attention.shape == (12, 6, 257)
    centred = (maps - maps.mean(-1, keepdims=True) for maps in (ours, attention))
    assert cosine(*centred).min() > 0.998
    assert cosine(final[::EVERY], tokens).min() > 0.998
    assert not np.array_equal(ours, attention)


def test_heads_of_layer_10_lie_on_the_eyes_and_the_nose(model: LoadedModel) -> None:
    """Where eyes and nose lie was read off the photo: patches of the left eye, the right eye and the nose."""
    attention, _ = run(model, data.chelsea())
    left, right, nose = np.s_[4:8, 3:7], np.s_[6:9, 11:15], np.s_[12:14, 9:12]
    eyes, muzzle = (attention[9, head, 1:].reshape(16, 16) for head in (4, 2))
    assert min(eyes[left].mean(), eyes[right].mean()) > 3 * eyes.mean()
    assert muzzle[nose].mean() > 3 * muzzle.mean()
    assert eyes[left].mean() > 2 * muzzle[left].mean() and muzzle[nose].mean() > 2 * eyes[nose].mean()
    assert muzzle.argmax() in np.arange(256).reshape(16, 16)[nose]


def test_the_card_states_licence_change_and_limits() -> None:
    header = read_header(FILE)
    card = header.card
    assert (card["title"], header.train, header.classes, header.is_identified) == (
        find(SHIPPED).title,
        None,
        (),
        True,
    )
    assert "not under this project's licence" in card["licence"] and "int8" in card["modified"]
    assert "knows no classes" in card["summary"] and "not stated" in card["training_data"]
    texts = [path.read_text("utf-8") for path in (FILE.parent / "licences").iterdir()]
    assert any("MIT License" in text and "Goueffon" in text for text in texts)
    assert any("Apache License" in text and "Meta Platforms" in text for text in texts)
    assert FILE.stat().st_size < 23e6


def test_anti_aliased_positions_would_be_another_model(
    model: LoadedModel,
) -> None:
    """The publisher's way of resizing decides: here the other one is off by a hundredth of the scale and more."""
    opened = open_model(FILE)
    other = replace(opened, config=replace(opened.vit.config, positions_antialias=True))
    _, aliased = run(apply_given(other, {"img_size": 224}), data.chelsea())
    _, ours = run(model, data.chelsea())
    assert np.abs(aliased - ours).max() > 1e-2 * np.abs(ours).max()


def test_at_448_px_the_tokens_are_four_times_as_many_and_see_the_same(model: LoadedModel) -> None:
    larger = load(SHIPPED, img_size=448)
    assert larger.layout(448, 448).num_patches == 1024 and not larger.classes
    assert larger.digest != model.digest
    (_, small), (_, large) = (run(opened, data.astronaut()) for opened in (model, larger))
    assert cosine(small[0], large[0]) > 0.8


def test_without_the_file_the_message_names_it_and_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path / "weights"))
    monkeypatch.setattr(
        published_weights, "SHIPPED_FOLDERS", (tmp_path / "checkpoints", tmp_path / "shipped")
    )
    with pytest.raises(
        PretrainedError, match="missing from this installation.*checkpoints/dinov2_small_saliency"
    ):
        load(SHIPPED)
    copied = tmp_path / "weights" / SHIPPED / f"{SHIPPED}.safetensors"
    copied.parent.mkdir(parents=True)
    copied.write_bytes(FILE.read_bytes()[:-1])
    with pytest.raises(PretrainedError, match="damaged: .*incomplete"):
        load(SHIPPED)
    raw = bytearray(FILE.read_bytes())
    raw[-1] ^= 1
    copied.write_bytes(raw)
    with pytest.raises(PretrainedError, match="damaged: the checkpoint's digest does not match"):
        load(SHIPPED)
    shutil.copy(FILE, copied)
    assert load(SHIPPED).title == find(SHIPPED).title

"""What one snapshot shows: the same numbers as its parts compute by themselves, and nothing where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from tests.random_models import random_model
from vitviz.analysis.attention import readout_row
from vitviz.config import CNNConfig, ModelConfig, Preparation, SwinConfig, ViTConfig
from vitviz.data.image_preprocessing import prepare
from vitviz.models.loaded_model import LoadedModel
from vitviz.pin import Pin
from vitviz.probe import snapshot_evaluation
from vitviz.probe.capture import attention_distances, capture

PREPARATION = Preparation(image_size=16, mean=(0.5,) * 3, std=(0.5,) * 3)
VIT = ViTConfig(image_size=16, patch_size=4, embed_dim=16, depth=2, num_heads=2, num_classes=3)
HYBRID = ViTConfig(
    image_size=16,
    patch_size=4,
    embed_dim=16,
    depth=1,
    num_heads=2,
    num_classes=3,
    stem=(4, 8),
    positions="none",
)
SWIN = SwinConfig(
    image_size=16, patch_size=2, embed_dim=8, depths=(1, 1), num_heads=(2, 2), window_size=2, num_classes=3
)
CNN = CNNConfig(image_size=16, widths=(4,), blocks=(1,), num_classes=3)
CLASSES = ("a", "b", "c")


def loaded(config: ModelConfig) -> LoadedModel:
    return random_model(config, PREPARATION, classes=CLASSES, trained_on="digits", step=1, digest="m@1")


@pytest.fixture(scope="module")
def held_out() -> snapshot_evaluation.HeldOut:
    draw = np.random.default_rng(0)
    images = draw.integers(0, 256, (30, 16, 16, 3), dtype=np.uint8)
    inputs = np.stack([prepare(image, PREPARATION).input for image in images])
    return snapshot_evaluation.HeldOut(inputs, draw.integers(0, 3, 30), images)


def test_a_vit_is_judged_and_looked_into(held_out: snapshot_evaluation.HeldOut) -> None:
    model = loaded(VIT)
    found = snapshot_evaluation.frame(model, held_out)
    assert found.judged is not None and found.inside is not None
    guesses = capture(model.model, held_out.inputs, record=("logits",)).logits.argmax(axis=1)
    assert found.judged.counts.sum() == 30
    assert found.judged.counts.trace() == (guesses == held_out.labels).sum()
    assert len(found.judged.worst) == len(found.judged.worst_words) == snapshot_evaluation.WORST
    inside = found.inside
    assert (inside.grid, inside.patch_px) == ((4, 4), 4)
    assert inside.similarity is not None and inside.similarity.shape == (16, 16)
    weight = model.vit.get_parameter("patch_embed.proj.weight").numpy()
    assert inside.weights is not None and np.array_equal(inside.weights, weight)
    far = attention_distances(model.model, held_out.inputs[: snapshot_evaluation.MEASURED]).distance_px.mean(
        axis=0
    )
    assert inside.distance_px is not None
    np.testing.assert_allclose(inside.distance_px, far)


def test_without_images_nothing_is_judged() -> None:
    found = snapshot_evaluation.frame(loaded(VIT), None)
    assert found.judged is None
    assert found.inside is not None and found.inside.distance_px is None


def test_a_hybrid_without_positions_has_neither_table_nor_filters(
    held_out: snapshot_evaluation.HeldOut,
) -> None:
    inside = snapshot_evaluation.frame(loaded(HYBRID), held_out).inside
    assert inside is not None and inside.similarity is None and inside.weights is None
    assert inside.distance_px is not None


@pytest.mark.parametrize("config", [SWIN, CNN], ids=["swin", "cnn"])
def test_a_model_without_heads_over_all_is_judged_alone(
    config: ModelConfig, held_out: snapshot_evaluation.HeldOut
) -> None:
    model = loaded(config)
    found = snapshot_evaluation.frame(model, held_out)
    assert found.inside is None and found.judged is not None
    seen = prepare(held_out.images[0], PREPARATION)
    assert snapshot_evaluation.attention(model, seen, Pin()) is None
    assert snapshot_evaluation.answer(model, seen).row is None


def test_attention_is_the_pinned_row_and_an_answer_reads_the_readouts(
    held_out: snapshot_evaluation.HeldOut,
) -> None:
    model, seen = loaded(VIT), prepare(held_out.images[0], PREPARATION)
    maps = capture(model.model, seen.input[None], record=("blocks.*.attn",)).attention()[:, 0]
    rows = snapshot_evaluation.attention(model, seen, Pin((0.1, 0.4)))
    assert rows is not None
    np.testing.assert_array_equal(rows, maps[:, :, 1 + 4, 1:].reshape(2, 2, 4, 4))
    found = snapshot_evaluation.answer(model, seen)
    assert found.row is not None
    np.testing.assert_allclose(found.probabilities.sum(), 1.0, rtol=1e-5)
    row = readout_row(maps[-1].mean(axis=0), ("cls",), "cls")
    np.testing.assert_allclose(found.row, row.reshape(4, 4), rtol=1e-5)

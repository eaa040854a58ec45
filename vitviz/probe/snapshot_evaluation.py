"""Evaluate one snapshot of a training: validation predictions, learned tables, attention."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis import mistakes, position_similarity
from vitviz.analysis.attention import FloatArray, readout_row
from vitviz.analysis.sinks import summarise_norms
from vitviz.config import ViTConfig
from vitviz.data.image_preprocessing import Prepared
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.token_layout import TokenLayout
from vitviz.pin import Pin
from vitviz.probe.capture import attention_distances, capture
from vitviz.probe.embedding import read_filters
from vitviz.text import percent

MEASURED = 24  # held-out images that the attention distance is the mean of
WORST = 6
_NO_TABLE = ("none", "pixels")  # positions that are no table


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The validation images of a run: model inputs, labels and pixels."""

    inputs: NDArray[np.float32]  # (n, C, S, S)
    labels: NDArray[np.integer[Any]]  # (n,)
    images: NDArray[np.uint8]  # (n, H, W, 3)


@dataclass(frozen=True, eq=False)
class SnapshotPredictions:
    """A model's predictions on the validation images."""

    held_out: HeldOut
    guesses: NDArray[np.int64]  # (n,): what each is read as
    given: FloatArray  # (n,): the probability of its true class
    counts: NDArray[np.int64]  # (classes, classes): of a true class, read as
    worst: NDArray[np.uint8]  # (k, H, W, 3): those whose true class gets the least probability
    worst_words: tuple[str, ...]  # (k,): that class, and what it gets


@dataclass(frozen=True, eq=False)
class LearnedTables:
    """The learned tables of a ViT; None where the model has none."""

    grid: tuple[int, int]
    patch_px: int
    similarity: FloatArray | None  # (N, N) of its positions
    weights: FloatArray | None  # (D, C, P, P): its patch embedding
    distance_px: FloatArray | None  # (layers, heads), mean over `MEASURED` images; None without held-out ones
    norms: FloatArray | None  # (layers, 2 + prefix groups), see `summarise_norms`


@dataclass(frozen=True, eq=False)
class SnapshotFrame:
    """One snapshot's results that do not depend on the selected image; None where the model has none."""

    classes: tuple[str, ...]
    judged: SnapshotPredictions | None
    inside: LearnedTables | None


@dataclass(frozen=True, eq=False)
class SnapshotPrediction:
    """A model's prediction for one image."""

    probabilities: FloatArray  # (classes,)
    row: FloatArray | None  # (rows, cols): where its readout looks in the last layer, mean of the heads


def frame(subject: LoadedModel, held_out: HeldOut | None) -> SnapshotFrame:
    """Evaluate a model on held-out images (None if unavailable), and measure its learned tables."""
    judged = None if held_out is None else judge(subject, held_out)
    seen = abilities(subject.config).heads_over_all
    return SnapshotFrame(subject.classes, judged, _read_tables(subject, held_out) if seen else None)


def judge(subject: LoadedModel, held_out: HeldOut) -> SnapshotPredictions:
    """Classify held-out images."""
    logits = capture(subject.model, held_out.inputs, record=("logits",), batch_size=64).logits
    return summarise_predictions(subject.probabilities(logits), held_out, subject.classes)


def summarise_predictions(
    given: FloatArray, held_out: HeldOut, classes: tuple[str, ...]
) -> SnapshotPredictions:
    """Summarise the probabilities (n, classes) of held-out images."""
    labels = held_out.labels
    worst = mistakes.most_wrong(given, labels, WORST)
    words = tuple(f"{classes[labels[i]]} ({percent(given[i, labels[i]], 0)})" for i in worst)
    guesses = given.argmax(axis=1)
    counts = mistakes.confusion_counts(labels, guesses, len(classes))
    true = given[np.arange(len(labels)), labels]
    return SnapshotPredictions(
        held_out, guesses, true, counts, np.ascontiguousarray(held_out.images[worst]), words
    )


def _read_tables(subject: LoadedModel, held_out: HeldOut | None) -> LearnedTables:
    config = as_vit(subject.config)
    layout = subject.layout(*config.image_shape)
    distance = norms = None
    if held_out is not None:
        images = held_out.inputs[:MEASURED]
        distance = attention_distances(subject.model, images, with_mean=False).distance_px.mean(axis=0)
        norms = measure_norms(subject, images)
    return LearnedTables(
        grid=layout.grid,
        patch_px=layout.patch_px,
        similarity=_similarity(subject, config, layout),
        weights=read_filters(subject),
        distance_px=distance,
        norms=norms,
    )


def measure_norms(subject: LoadedModel, images: NDArray[np.float32]) -> FloatArray:
    """Return `summarise_norms` of a ViT's tokens after every block, (layers, 2 + prefix groups)."""
    config = as_vit(subject.config)
    names = tuple(f"blocks.{layer}" for layer in range(config.depth))
    records = capture(subject.model, images, record=names)
    return np.stack(
        [summarise_norms(np.linalg.norm(records[name], axis=-1), config.prefix_tokens) for name in names]
    )


def _similarity(subject: LoadedModel, config: ViTConfig, layout: TokenLayout) -> FloatArray | None:
    if config.positions in _NO_TABLE:
        return None
    blank = np.zeros((1, config.in_chans, *config.image_shape), np.float32)
    records = capture(subject.model, blank, record=("pos_embed",))
    if "pos_embed" not in records.arrays:
        return None
    table = position_similarity.patch_rows(records["pos_embed"][-1], layout.grid)
    return position_similarity.cosine_similarity(table).astype(np.float32)


def attention(subject: LoadedModel, seen: Prepared, pin: Pin) -> FloatArray | None:
    """Return the attention of the pinned query, (layers, heads, rows, cols); None without global attention."""
    if not abilities(subject.config).heads_over_all:
        return None
    layout = subject.layout(*seen.input.shape[-2:])
    weights = capture(subject.model, seen.input[None], record=("blocks.*.attn",)).attention()
    rows = weights[:, 0][:, :, pin.token(layout), layout.num_prefix_tokens :]
    return rows.reshape(*rows.shape[:2], *layout.grid)


def answer(subject: LoadedModel, seen: Prepared) -> SnapshotPrediction:
    """Return a model's prediction for an image, with the attention of its readout."""
    if not abilities(subject.config).heads_over_all:
        records = capture(subject.model, seen.input[None], record=("logits",))
        return SnapshotPrediction(subject.probabilities(records.logits)[0], None)
    config, layout = as_vit(subject.config), subject.layout(*seen.input.shape[-2:])
    last = f"blocks.{config.depth - 1}.attn"
    records = capture(subject.model, seen.input[None], record=(last,))
    row = readout_row(records[last].mean(axis=1), layout.prefix, config.readout)[0]
    return SnapshotPrediction(subject.probabilities(records.logits)[0], row.reshape(layout.grid))

"""What one snapshot of a run shows: its frame, whatever picture is chosen, and its attention on a picture.

`frame` and `attention` are computed behind the pages (pages/train/lab/evolving.py): nothing here draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from pages.stores import cached, runs
from vitviz.analysis import confusion, positions
from vitviz.analysis.distance import DistanceStream
from vitviz.analysis.patches import probabilities
from vitviz.pin import Pin
from vitviz.words import percent

if TYPE_CHECKING:
    from vitviz.data.preparation import Prepared
    from vitviz.models.loaded import LoadedModel
    from vitviz.training.runs import Run

HELD_OUT = 200  # validation pictures that are classified at every snapshot
MEASURED = 24  # of them for the attention distance
WORST = 6


@dataclass(frozen=True, eq=False)
class Frame:
    """What one snapshot shows, whatever picture is chosen; None where the model has no such thing."""

    similarity: np.ndarray | None  # (N, N)
    weights: np.ndarray | None  # (D, C, P, P)
    distance_px: np.ndarray | None  # (layers, heads)
    counts: np.ndarray | None  # (classes, classes)
    worst: np.ndarray | None  # (k, S, S, 3) uint8
    worst_words: tuple[str, ...]
    grid: tuple[int, int] | None
    patch_px: int
    classes: tuple[str, ...]


class Version(NamedTuple):
    """One snapshot as it lies there now: a resumed run may make the same step anew, with other weights."""

    step: int
    modified_ns: int


def versions(run: Run) -> list[Version]:
    """The snapshots of a run, ascending."""
    return [Version(*found) for found in run.snapshot_times().items()]


def waiting(run: Run) -> str:
    """What is said of a run while it has no snapshot."""
    if runs.status(run).active:
        return "The first snapshot is on its way."
    return "This run ended before its first snapshot."


@st.cache_resource(max_entries=8, show_spinner=False)
def model_at(run_id: str, version: Version) -> LoadedModel:
    """The model of one snapshot."""
    from vitviz.checkpoints import open_model

    return open_model(runs.snapshot_path(run_id, version.step), version.step)


@st.cache_resource(max_entries=4, show_spinner=False)
def held_out(dataset: str, fraction: float, preparation: Any) -> tuple[np.ndarray, ...] | None:
    """(inputs (n, C, S, S), labels (n,), pictures (n, H, W, 3) uint8) that a run validates on.

    None where the set is not on this server: a run may have been uploaded, or its visitor's pictures removed.
    """
    from vitviz.data.dataset import DatasetError
    from vitviz.data.datasets import available_datasets, validation_split
    from vitviz.data.own import is_own
    from vitviz.data.preparation import prepare_batch
    from vitviz.training.pictures import SPLIT_SEED

    if dataset not in available_datasets() and not is_own(dataset):
        return None
    try:
        data = cached.dataset(dataset)
    except DatasetError:
        return None
    chosen = validation_split(data, fraction, SPLIT_SEED)[1][:HELD_OUT]
    shown = data.train_images[chosen]
    return (
        prepare_batch(shown, preparation),
        data.train_labels[chosen],
        np.broadcast_to(shown, (*shown.shape[:3], 3)),
    )


def frame(run_id: str, version: Version, held_out: tuple[np.ndarray, ...] | None) -> Frame:
    """Judges one snapshot on what its run held out (None: it is gone), and measures what it has learned."""
    from vitviz.probe.capture import capture, stream_attention

    subject = model_at(run_id, version)
    counts = worst = similarity = weights = distance = grid = None
    words: tuple[str, ...] = ()
    patch_px = 1
    if held_out is not None:
        counts, worst, words = _judged(subject, *held_out)
    if subject.config.kind == "vit":
        config = subject.config
        blank = np.zeros((1, config.in_chans, config.image_size, config.image_size), np.float32)
        first = capture(subject.model, blank, record=("pos_embed",))
        grid, patch_px = first.layout.grid, first.layout.patch_px
        if "pos_embed" in first.arrays and config.positions not in ("none", "pixels"):
            table = positions.patch_rows(first["pos_embed"][-1], grid)
            similarity = positions.cosine_similarity(table).astype(np.float32)
        weights = _embedding(subject)
        if held_out is not None:
            stream = DistanceStream(config.depth, grid, patch_px)
            stream_attention(subject.model, held_out[0][:MEASURED], stream.add)
            distance = stream.result().distance_px.mean(axis=0)
    return Frame(similarity, weights, distance, counts, worst, words, grid, patch_px, subject.classes)


def _judged(
    subject: LoadedModel, inputs: np.ndarray, labels: np.ndarray, shown: np.ndarray
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """(confusion counts, the pictures it gets most wrong, what it gives their classes)."""
    from vitviz.probe.capture import capture

    logits = capture(subject.model, inputs, record=("logits",), batch_size=64).logits
    given = probabilities(logits, getattr(subject.config, "softmax_output", False))
    worst = confusion.most_wrong(given, labels, WORST)
    words = tuple(f"{subject.classes[labels[i]]}: {percent(given[i, labels[i]], 0)}" for i in worst)
    counts = confusion.confusion_counts(labels, given.argmax(axis=1), len(subject.classes))
    return counts, np.ascontiguousarray(shown[worst]), words


def _embedding(subject: LoadedModel) -> np.ndarray | None:
    for name, tensor in subject.model.state_dict().items():
        if name.startswith("patch_embed") and name.endswith("weight"):
            config = subject.config
            shape = (config.embed_dim, config.in_chans, config.patch_size, config.patch_size)
            return tensor.numpy().reshape(shape) if tensor.numel() == np.prod(shape) else None
    return None


def attention(run_id: str, version: Version, seen: Prepared, pin: Pin) -> np.ndarray | None:
    """(layers, heads, rows, cols): what the pinned query attends to; None where a model has no such thing."""
    from vitviz.probe.capture import capture

    subject = model_at(run_id, version)
    if subject.config.kind != "vit":
        return None
    found = capture(subject.model, seen.input[None], record=("blocks.*.attn",))
    layout = found.layout
    rows = found.attention()[:, 0, :, pin.token(layout), layout.num_prefix_tokens :]
    return rows.reshape(*rows.shape[:2], *layout.grid)

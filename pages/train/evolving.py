"""Every lens in small, for every snapshot of a run: computed once per snapshot, sent as one flip-book."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages._shared import cached, nouns, own_sets, runs
from vitviz.analysis import confusion, filters, positions
from vitviz.analysis.distance import DistanceStream, corner_distance_px, uniform_distance_px
from vitviz.analysis.patches import probabilities
from vitviz.plots.life import Picture, payload, to_bytes

if TYPE_CHECKING:
    from vitviz.data.preparation import Prepared
    from vitviz.models.loaded import LoadedModel
    from vitviz.training.runs import Run, RunConfig

HELD_OUT = 200  # validation pictures that are classified at every snapshot
MEASURED = 24  # of them for the attention distance
WORST = 6
COMPONENTS = 16
BUDGET_S = 0.25  # for new frames per poll: a page that watches must not stand still
GONE = "The pictures that this run was trained on are not on this server."


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


def complete(run: Run) -> bool:
    """Whether every snapshot of the run has its frame."""
    return all((run.id, step) in _computed() for step in run.snapshots())


def flip_book(run: Run, moment: int | None) -> bytes:
    """The run's flip-book as far as it is computed; each call computes a little more, the newest snapshot first."""
    own_sets.stay()
    ready = _advance(run)
    image, pin = nouns.current().image, nouns.current().pin
    book = _book_of_upload if image.startswith("upload:") else _book
    pictures = book(run.id, tuple(ready), image, pin, nouns.current().offset)
    log = runs.log(run.id)
    table = log.read().validation()
    moments = [_moment(step, log, table) for step in ready]
    waiting = "The first snapshot is on its way." if run.status().active else "This run has no snapshot."
    return payload(run.id, ready, moments, pictures, moment, waiting)


def _advance(run: Run) -> list[int]:
    """Compute missing frames for a moment; the steps that have one, ascending."""
    began, steps, done = time.monotonic(), run.snapshots(), _computed()
    missing = [step for step in steps if (run.id, step) not in done]
    for step in [*missing[-1:], *missing[:-1]]:
        _frame(run.id, step)
        done.add((run.id, step))
        if time.monotonic() - began > BUDGET_S:
            break
    return [step for step in steps if (run.id, step) in done]


@st.cache_resource(show_spinner=False)
def _computed() -> set[tuple[str, int]]:
    """(run, step) of the frames that the caches hold; steps that a resumed run makes anew hold the same weights."""
    return set()


def _moment(step: int, log: runs.Log, table: np.ndarray) -> str:
    epoch, seconds = log.snapshots.get(step, (0.0, 0.0))
    words = f"epoch {epoch:.1f} · {seconds:.1f} s"
    before = np.flatnonzero(table[0] <= step) if table.shape[1] else np.array([], int)
    if step and len(before):
        words += f" · validation {runs.percent(table[-1, before[-1]])}"
    return words


# ---------------------------------------------------------------- one snapshot


@st.cache_resource(max_entries=8, show_spinner=False)
def model_at(run_id: str, step: int) -> LoadedModel:
    """The model of one snapshot."""
    from vitviz.checkpoints import open_model

    return open_model(runs.snapshot_path(run_id, step), step)


@st.cache_resource(max_entries=4, show_spinner=False)
def _held_out(dataset: str, fraction: float, preparation: Any) -> tuple[np.ndarray, ...] | None:
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


def forget() -> None:
    """Drops every picture that is held: a visitor has removed a set."""
    for kept in (_held_out, _frame, _book, _computed):
        kept.clear()


@st.cache_resource(max_entries=600, show_spinner=False)
def _frame(run_id: str, step: int) -> Frame:
    from vitviz.capture import capture, stream_attention

    subject, train = model_at(run_id, step), runs.find(run_id).config().train
    held_out = _held_out(train.dataset, train.validation_fraction, subject.preparation)
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
    return Frame(similarity, weights, distance, counts, worst, words, grid, patch_px)


def _judged(
    subject: LoadedModel, inputs: np.ndarray, labels: np.ndarray, shown: np.ndarray
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """(confusion counts, the pictures it gets most wrong, what it gives their classes)."""
    from vitviz.capture import capture

    logits = capture(subject.model, inputs, record=("logits",), batch_size=64).logits
    given = probabilities(logits, getattr(subject.config, "softmax_output", False))
    worst = confusion.most_wrong(given, labels, WORST)
    words = tuple(f"{subject.classes[labels[i]]}: {runs.percent(given[i, labels[i]], 0)}" for i in worst)
    counts = confusion.confusion_counts(labels, given.argmax(axis=1), len(subject.classes))
    return counts, np.ascontiguousarray(shown[worst]), words


def _embedding(subject: LoadedModel) -> np.ndarray | None:
    for name, tensor in subject.model.state_dict().items():
        if name.startswith("patch_embed") and name.endswith("weight"):
            config = subject.config
            shape = (config.embed_dim, config.in_chans, config.patch_size, config.patch_size)
            return tensor.numpy().reshape(shape) if tensor.numel() == np.prod(shape) else None
    return None


def _attention(
    run_id: str, step: int, image: str, pin: str, offset: tuple[float, float]
) -> np.ndarray | None:
    """(layers, heads, rows, cols): what the pinned query attends to."""
    from vitviz.capture import capture

    subject = model_at(run_id, step)
    if subject.config.kind != "vit":
        return None
    seen = cached.prepared(image, subject.preparation, offset)
    found = capture(subject.model, seen.input[None], record=("blocks.*.attn",))
    layout = found.layout
    try:
        token = layout.token_of_pin(pin)
    except ValueError:
        token = layout.token_at(0.5, 0.5)
    first = len(layout.prefix)
    rows = found.attention()[:, 0, :, token, first:]
    return rows.reshape(*rows.shape[:2], *layout.grid)


_attention_shared = st.cache_resource(max_entries=1000, show_spinner=False)(_attention)
_attention_of_upload = st.cache_resource(max_entries=200, show_spinner=False, scope="session")(_attention)


# ---------------------------------------------------------------- all snapshots


def _pictures(
    run_id: str, steps: tuple[int, ...], image: str, pin: str, offset: tuple[float, float]
) -> list[Picture]:
    frames = [_frame(run_id, step) for step in steps]
    if not frames:
        return []
    config = runs.find(run_id).config()
    made = [
        _attention_picture(run_id, config, steps, image, pin, offset),
        _similarity_picture(frames, config),
        _filters_picture(frames),
        _distance_picture(frames, config),
        _confusion_picture(frames, model_at(run_id, steps[-1]).classes),
        _worst_picture(frames),
    ]
    return [picture for picture in made if picture is not None]


_book = st.cache_resource(max_entries=48, show_spinner=False)(_pictures)
_book_of_upload = st.cache_resource(max_entries=8, show_spinner=False, scope="session")(_pictures)
cached.forgets(_attention_of_upload, _book_of_upload)


def _absent(name: str, title: str, reason: str) -> Picture:
    return Picture(name, title, "none", reason=reason)


def _attention_picture(
    run_id: str,
    config: RunConfig,
    steps: tuple[int, ...],
    image: str,
    pin: str,
    offset: tuple[float, float],
) -> Picture:
    if config.model.kind != "vit":
        return _absent("attention", "Attention", "This model has no attention between patches of a grid.")
    find = partial(_attention_of_upload if image.startswith("upload:") else _attention_shared, run_id)
    maps = np.stack([find(step, image, pin, offset) for step in steps])  # (S, layers, heads, rows, cols)
    top = float(maps.max()) or 1.0
    seen = cached.prepared(image, config.preparation, offset)
    layers, heads, rows, cols = maps.shape[1:]
    peaks = maps.max(axis=(2, 3, 4))
    captions = [
        f"The strongest weight, {frame.max():.2f}, is in layer {int(frame.argmax()) + 1}; even attention would give"
        f" {1 / (rows * cols + len(config.model.prefix_tokens)):.2f}."
        for frame in peaks
    ]
    extra: dict[str, Any] = {
        "rows": [f"L{i + 1}" for i in range(layers)],
        "cols": [f"h{i + 1}" for i in range(heads)] if heads <= 8 else None,
    }
    mark = _pinned_cell(pin, rows, cols)
    if mark is not None:
        extra["mark"] = mark
    return Picture(
        "attention",
        f"Attention of the pinned {'patch' if mark else 'token'}",
        "overlay",
        to_bytes(maps, 0.0, top),
        hi=top,
        captions=captions,
        page="attention",
        opens="the attention explorer",
        extra=extra,
        base=_greyed(seen),
    )


def _pinned_cell(pin: str, rows: int, cols: int) -> tuple[int, int] | None:
    if pin[:1].isalpha():
        return None
    x, y = (float(part) for part in pin.split(","))
    return min(rows - 1, int(y * rows)), min(cols - 1, int(x * cols))


def _greyed(seen: Prepared) -> np.ndarray:
    grey = seen.shown.astype(np.float32).mean(axis=2, keepdims=True)
    return np.repeat(np.round(grey * 0.8 + 25).astype(np.uint8), 3, axis=2)


def _similarity_picture(frames: list[Frame], config: RunConfig) -> Picture:
    title = "Similarity of positions"
    if any(frame.similarity is None for frame in frames):
        return _absent("similarity", title, "This model has no table of positions to compare.")
    rows, cols = frames[0].grid
    maps = np.stack([frame.similarity for frame in frames]).reshape(-1, rows, cols, rows, cols)
    captions = []
    for frame in frames:
        found = positions.structure(frame.similarity, frame.grid)
        captions.append(
            f"Neighbours {found.either_step:.2f}, pairs that share neither row nor column {found.elsewhere:.2f}."
        )
    return Picture(
        "similarity",
        title,
        "map",
        to_bytes(maps, -1.0, 1.0),
        ramp="diverging",
        lo=-1.0,
        hi=1.0,
        captions=captions,
        page="positions",
        opens="positional encodings",
        extra={"tile": "position"},
    )


def _filters_picture(frames: list[Frame]) -> Picture:
    if any(frame.weights is None for frame in frames):
        return _absent("filters", "Filters of E", "This model has no single linear patch embedding.")
    maps, shares = filters.components_over_time([frame.weights for frame in frames], COMPONENTS)
    tiles, _ = filters.to_bytes(maps)
    side = 4 if tiles.shape[1] >= 16 else int(tiles.shape[1] ** 0.5)
    tiles = np.broadcast_to(tiles[:, : side * side], (len(tiles), side * side, *tiles.shape[2:4], 3))
    captions = [
        f"Principal components of E; the first {side * side} hold {runs.percent(share[: side * side].sum(), 0)}"
        " of its variance."
        for share in shares
    ]
    return Picture(
        "filters",
        "Filters of E",
        "rgb",
        np.ascontiguousarray(tiles.reshape(len(tiles), side, side, *tiles.shape[2:])),
        captions=captions,
        page="filters",
        opens="the filters of E",
    )


def _distance_picture(frames: list[Frame], config: RunConfig) -> Picture:
    title = "Attention distance, px"
    if any(frame.distance_px is None for frame in frames):
        gone = config.model.kind == "vit"
        return _absent(
            "distance", title, GONE if gone else "Distance needs attention between patches of one grid."
        )
    first = frames[0]
    top = corner_distance_px(first.grid, first.patch_px) * 0.75
    even = uniform_distance_px(first.grid, first.patch_px, len(config.model.prefix_tokens))
    captions = [
        f"Heads look {frame.distance_px.min():.1f} to {frame.distance_px.max():.1f} px far;"
        f" even attention {even:.1f} px."
        for frame in frames
    ]
    return Picture(
        "distance",
        title,
        "dots",
        to_bytes(np.stack([frame.distance_px for frame in frames]), 0.0, top),
        hi=top,
        captions=captions,
        page="attention_distance",
        opens="attention distance",
    )


def _confusion_picture(frames: list[Frame], classes: tuple[str, ...]) -> Picture | None:
    if any(frame.counts is None for frame in frames):
        return _absent("confusion", "Confusion", GONE)
    if len(classes) > 20:
        return None
    maps = np.stack([confusion.confusion_shares(frame.counts) for frame in frames])[:, None, None]
    captions = []
    for frame in frames:
        most = confusion.most_confused(frame.counts)
        right = frame.counts.trace() / max(1, frame.counts.sum())
        words = f"{runs.percent(right)} of {frame.counts.sum()} held-out pictures are right"
        if most is not None:
            words += f"; most often {classes[most[0]]} is read as {classes[most[1]]} ({most[2]})"
        captions.append(words + ".")
    return Picture(
        "confusion",
        "Confusion",
        "map",
        to_bytes(maps, 0.0, 1.0),
        lo=0.0,
        hi=100.0,
        captions=captions,
        extra={"names": list(classes)},
    )


def _worst_picture(frames: list[Frame]) -> Picture:
    if any(frame.worst is None for frame in frames):
        return _absent("worst", "Most wrong", GONE)
    tiles = np.stack([frame.worst for frame in frames])
    count, side = tiles.shape[1], tiles.shape[2]
    wide = 3 if count % 3 == 0 else count
    return Picture(
        "worst",
        "Most wrong",
        "rgb",
        tiles.reshape(len(frames), count // wide, wide, side, tiles.shape[3], 3),
        captions=["True class, and the probability that it gets."] * len(frames),
        extra={"tiles": [list(frame.worst_words) for frame in frames]},
    )

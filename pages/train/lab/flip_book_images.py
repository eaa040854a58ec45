"""Build the small images of a run's timeline, one per lens with one frame per snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis import filters, mistakes, position_similarity
from vitviz.analysis.distance import corner_distance_px, uniform_distance_px
from vitviz.analysis.sinks import group_prefix
from vitviz.models.abilities import abilities, as_vit
from vitviz.pin import Pin
from vitviz.plots.flip_book import Picture, to_bytes
from vitviz.text import percent, plural, signed

if TYPE_CHECKING:
    from vitviz.config import ModelConfig
    from vitviz.data.image_preprocessing import Prepared
    from vitviz.probe.snapshot_evaluation import LearnedTables, SnapshotFrame

T = TypeVar("T")
MISTAKES_TITLE = "All mistakes"
COMPONENTS = 16
MOST_NAMES = 20  # a table of more classes would be unreadable
PERCENT = 2.55  # a byte of a share up to this is its whole percent, as texts write it
MOST_PX = 32  # largest side of an image that is sent to the browser
DATASET_MISSING = "The run's dataset is not on this server: train on it to download it, or upload it again."


def build_images(
    config: ModelConfig,
    frames: Sequence[SnapshotFrame],
    attention: Sequence[NDArray[np.floating[Any]] | None],
    seen: Prepared,
    pin: Pin,
) -> list[Picture]:
    """Build one image per lens, each with a frame per snapshot.

    Args:
        config: configuration of the model.
        frames, attention: one entry per snapshot, in ascending order of steps.
        seen, pin: the image and the query whose attention is shown.
    """
    if not frames:
        return []
    inside = require_all(frame.inside for frame in frames)
    images = [
        _build_attention(config, require_all(attention), seen, pin),
        _build_similarity(inside),
        _build_filters(inside),
        _build_distance(config, inside),
        _build_norms(config, inside),
        _build_confusion(frames),
        _build_worst(frames),
    ]
    return [image for image in images if image is not None]


def require_all(values: Iterable[T | None]) -> list[T] | None:
    entries = list(values)
    present = [entry for entry in entries if entry is not None]
    return present if len(present) == len(entries) else None


def _build_placeholder(name: str, title: str, reason: str) -> Picture:
    return Picture(name, title, "none", reason=reason)


def _build_attention(
    config: ModelConfig, attention: Sequence[NDArray[np.floating[Any]]] | None, seen: Prepared, pin: Pin
) -> Picture:
    if attention is None:
        return _build_placeholder("attention", "Attention", "This model has no attention between patches.")
    maps = np.stack(attention)  # (S, layers, heads, rows, cols)
    layers, heads, rows, cols = maps.shape[1:]
    tops = [float(frame.max()) or 1.0 for frame in maps]
    uniform = 1 / (rows * cols + len(as_vit(config).prefix_tokens))
    captions = [
        f"Largest attention weight: {frame.max():.2f} in layer"
        f" {int(frame.max(axis=(1, 2, 3)).argmax()) + 1}; uniform attention: {uniform:.2f}."
        for frame in maps
    ]
    extra: dict[str, Any] = {
        "rows": [f"L{i + 1}" for i in range(layers)],
        "cols": [f"h{i + 1}" for i in range(heads)] if heads <= 8 else None,
    }
    mark = None if pin.place is None else pin.row_col((rows, cols))
    if mark is not None:
        extra["mark"] = mark
    return Picture(
        "attention",
        f"Attention of the selected {'patch' if mark else 'token'}",
        "overlay",
        np.stack([to_bytes(frame, 0.0, top) for frame, top in zip(maps, tops, strict=True)]),
        tops=tops,
        captions=captions,
        page="attention",
        opens="Attention",
        extra=extra,
        base=_convert_to_grey(seen),
    )


def _convert_to_grey(seen: Prepared) -> NDArray[np.uint8]:
    grey = seen.shown.astype(np.float32).mean(axis=2, keepdims=True)
    return np.repeat(np.round(grey * 0.8 + 25).astype(np.uint8), 3, axis=2)


def _build_similarity(inside: Sequence[LearnedTables] | None) -> Picture:
    title = "Position similarity"
    tables = require_all(weights.similarity for weights in inside or ())
    if not inside or not tables:
        return _build_placeholder("similarity", title, "This model has no position embeddings.")
    rows, cols = grid = inside[0].grid
    captions = []
    for table in tables:
        summary = position_similarity.measure_structure(table, grid)
        captions.append(
            f"Mean cosine similarity: {signed(summary.either_step)} for neighbours, {signed(summary.elsewhere)} for"
            " pairs in different rows and columns."
            if min(rows, cols) > 1
            else f"A grid of {plural(rows * cols, 'patch', 'patches')} has no neighbours in both directions."
        )
    return Picture(
        "similarity",
        title,
        "map",
        to_bytes(np.stack(tables).reshape(-1, rows, cols, rows, cols), -1.0, 1.0),
        ramp="diverging",
        lo=-1.0,
        hi=1.0,
        captions=captions,
        page="positions",
        opens="Positions",
        extra={"tile": "position"},
    )


def _build_filters(inside: Sequence[LearnedTables] | None) -> Picture:
    weights = require_all(snapshot.weights for snapshot in inside or ())
    if not weights:
        return _build_placeholder("filters", "Filters of E", "This model has no linear patch embedding.")
    maps, shares = filters.components_over_time(weights, COMPONENTS)
    tiles, _ = filters.to_bytes(maps)
    side = 4 if tiles.shape[1] >= 16 else int(tiles.shape[1] ** 0.5)
    tiles = np.broadcast_to(tiles[:, : side * side], (len(tiles), side * side, *tiles.shape[2:4], 3))
    every = f"All {side * side} principal components of E."
    first = f"The first {side * side} principal components of E explain"
    captions = [
        every
        if weights[0][0].size == side * side
        else f"{first} {percent(share[: side * side].sum(), 0)} of its variance."
        for share in shares
    ]
    return Picture(
        "filters",
        "Filters of E",
        "rgb",
        np.ascontiguousarray(tiles.reshape(len(tiles), side, side, *tiles.shape[2:])),
        captions=captions,
        page="filters",
        opens="Filters of E",
    )


def _build_distance(config: ModelConfig, inside: Sequence[LearnedTables] | None) -> Picture:
    title = "Attention distance, px"
    distances = require_all(snapshot.distance_px for snapshot in inside or ())
    if not inside or not distances:
        is_vit = abilities(config).heads_over_all
        return _build_placeholder(
            "distance",
            title,
            DATASET_MISSING if is_vit else "This model has no global attention between patches.",
        )
    grid, patch_px = inside[0].grid, inside[0].patch_px
    # With a single patch every distance is 0, which leaves the axis without a range.
    top = corner_distance_px(grid, patch_px) * 0.75 or patch_px
    uniform = uniform_distance_px(grid, patch_px, len(as_vit(config).prefix_tokens))
    captions = [
        f"Distance per head: {heads.min():.1f} to {heads.max():.1f} px; uniform attention: {uniform:.1f} px."
        for heads in distances
    ]
    return Picture(
        "distance",
        title,
        "dots",
        to_bytes(np.stack(distances), 0.0, top),
        hi=top,
        captions=captions,
        page="attention_distance",
        opens="Attention distance",
    )


def _build_norms(config: ModelConfig, inside: Sequence[LearnedTables] | None) -> Picture:
    title, norms = "Token norms by block", require_all(weights.norms for weights in inside or ())
    if not inside or not norms:
        is_vit = abilities(config).heads_over_all
        reason = DATASET_MISSING if is_vit else "This model has no tokens whose norms could be compared."
        return _build_placeholder("norms", title, reason)
    top = max(float(frame.max()) for frame in norms) or 1.0
    captions = []
    for frame in norms:
        times = frame[:, 1] / np.maximum(frame[:, 0], 1e-12)
        layer = int(times.argmax())
        captions.append(
            f"Largest patch norm: {times[layer]:.1f} times the median, in block {layer + 1}"
            + "".join(
                f"; {name} {frame[layer, 2 + i]:.1f}"
                for i, name in enumerate(group_prefix(as_vit(config).prefix_tokens))
            )
            + f"; median {frame[layer, 0]:.1f}."
        )
    return Picture(
        "norms",
        title,
        "dots",
        to_bytes(np.stack(norms), 0.0, top),
        hi=top,
        captions=captions,
        page="layers",
        opens="What layers see",
        extra={"series": ["median patch", "largest patch", *group_prefix(as_vit(config).prefix_tokens)]},
    )


def _build_confusion(frames: Sequence[SnapshotFrame]) -> Picture | None:
    judged = require_all(frame.judged for frame in frames)
    if judged is None:
        return _build_placeholder("confusion", "Confusion matrix", DATASET_MISSING)
    classes = frames[-1].classes
    if len(classes) > MOST_NAMES:
        return None
    tables = [snapshot.counts for snapshot in judged]
    maps = np.stack([mistakes.confusion_shares(table) for table in tables])[:, None, None]
    captions = [
        f"Accuracy of this snapshot: {percent(table.trace() / max(1, int(table.sum())))} on"
        f" {plural(int(table.sum()), 'validation image')}{_describe_most_common_mistake(table, classes)}."
        for table in tables
    ]
    return Picture(
        "confusion",
        "Confusion matrix",
        "map",
        to_bytes(maps, 0.0, PERCENT),
        lo=0.0,
        hi=100.0,
        captions=captions,
        extra={"names": list(classes)},
    )


def _describe_most_common_mistake(counts: NDArray[np.int64], classes: Sequence[str]) -> str:
    """Return a clause that names the most common mistake if it occurs more than once."""
    most = mistakes.most_confused(counts)
    if most is None:
        return ""
    if most[2] == 1 and counts.sum() - counts.trace() > 1:
        return "; no mistake occurs twice"
    mistake = f"{classes[most[0]]} predicted as {classes[most[1]]}"
    return f"; only mistake: {mistake}" if most[2] == 1 else f"; most common: {mistake} ({most[2]:,} times)"


def _build_worst(frames: Sequence[SnapshotFrame]) -> Picture:
    judged = require_all(frame.judged for frame in frames)
    if judged is None:
        return _build_placeholder("worst", "Worst predictions", DATASET_MISSING)
    tiles = np.stack([snapshot.worst for snapshot in judged])
    count = tiles.shape[1]
    wide = 3 if count % 3 == 0 else count
    return Picture(
        "worst",
        "Worst predictions",
        "rgb",
        tiles.reshape(len(tiles), count // wide, wide, *tiles.shape[2:]),
        captions=[
            f"Lowest probability of a true class: {', '.join(snapshot.worst_words[:1])}."
            for snapshot in judged
        ],
        tiles=[list(snapshot.worst_words) for snapshot in judged],
    )


def build_mistakes(frames: Sequence[SnapshotFrame]) -> Picture:
    """Build the table of mistakes: each validation image's predicted class and true-class probability per snapshot.

    Args:
        frames: one per snapshot, in ascending order of steps.
    """
    judged = require_all(frame.judged for frame in frames)
    if not judged:
        return _build_placeholder("mistakes", MISTAKES_TITLE, DATASET_MISSING)
    held_out, classes = judged[0].held_out, frames[-1].classes
    right = np.stack([snapshot.guesses == held_out.labels for snapshot in judged])
    captions = [
        mistakes.describe_moment(moment, not i) for i, moment in enumerate(mistakes.track_moments(right))
    ]
    captions[-1] = f"{captions[-1]} {mistakes.describe_forgotten(right, held_out.labels, classes)}".rstrip()
    predictions = [np.minimum(snapshot.guesses, 255).astype(np.uint8) for snapshot in judged]
    confidences = [to_bytes(snapshot.given, 0.0, PERCENT) for snapshot in judged]
    return Picture(
        "mistakes",
        MISTAKES_TITLE,
        "mistakes",
        np.stack([np.stack(arrays) for arrays in zip(predictions, confidences, strict=True)]),
        captions=captions,
        extra={
            "names": list(classes),
            "labels": held_out.labels.tolist(),
            "table": len(classes) <= MOST_NAMES,
        },
        base=shrink_images(held_out.images),
    )


def shrink_images(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Average (n, H, W, 3) images down to at most `MOST_PX` per side; grey ones become (n, h, w)."""
    grey = bool((images[..., :1] == images).all())
    shown = images[..., :1] if grey else images
    block = -(-max(shown.shape[1:3]) // MOST_PX)
    rows, cols = (side // block for side in shown.shape[1:3])
    blocks = shown[:, : rows * block, : cols * block].reshape(len(shown), rows, block, cols, block, -1)
    averaged = blocks.mean(axis=(2, 4)).round().astype(np.uint8)
    return np.ascontiguousarray(averaged[..., 0] if grey else averaged)

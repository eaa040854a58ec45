"""Pictures of all snapshots of a run, put together from their frames: the pages of the lab's flip-book."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vitviz.analysis import confusion, filters, positions
from vitviz.analysis.distance import corner_distance_px, uniform_distance_px
from vitviz.pin import Pin
from vitviz.plots.life import Picture, to_bytes
from vitviz.words import percent

if TYPE_CHECKING:
    from pages.train.lab.snapshots import Frame
    from vitviz.data.preparation import Prepared
    from vitviz.training.runs import RunConfig

COMPONENTS = 16
GONE = "The pictures that this run was trained on are not on this server."


def pictures(
    config: RunConfig,
    frames: Sequence[Frame],
    attention: Sequence[np.ndarray | None],
    seen: Prepared,
    pin: Pin,
) -> list[Picture]:
    """One picture per lens, each with a frame per snapshot.

    Args:
        config: the run's.
        frames, attention: of its snapshots, ascending.
        seen, pin: the picture and the query whose attention is shown.
    """
    if not frames:
        return []
    made = [
        _attention_picture(config, attention, seen, pin),
        _similarity_picture(frames, config),
        _filters_picture(frames),
        _distance_picture(frames, config),
        _confusion_picture(frames),
        _worst_picture(frames),
    ]
    return [picture for picture in made if picture is not None]


def _absent(name: str, title: str, reason: str) -> Picture:
    return Picture(name, title, "none", reason=reason)


def _attention_picture(
    config: RunConfig, attention: Sequence[np.ndarray | None], seen: Prepared, pin: Pin
) -> Picture:
    if any(maps is None for maps in attention):
        return _absent("attention", "Attention", "This model has no attention between patches of a grid.")
    maps = np.stack(attention)  # (S, layers, heads, rows, cols)
    top = float(maps.max()) or 1.0
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
    mark = None if pin.place is None else pin.row_col((rows, cols))
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


def _greyed(seen: Prepared) -> np.ndarray:
    grey = seen.shown.astype(np.float32).mean(axis=2, keepdims=True)
    return np.repeat(np.round(grey * 0.8 + 25).astype(np.uint8), 3, axis=2)


def _similarity_picture(frames: Sequence[Frame], config: RunConfig) -> Picture:
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


def _filters_picture(frames: Sequence[Frame]) -> Picture:
    if any(frame.weights is None for frame in frames):
        return _absent("filters", "Filters of E", "This model has no single linear patch embedding.")
    maps, shares = filters.components_over_time([frame.weights for frame in frames], COMPONENTS)
    tiles, _ = filters.to_bytes(maps)
    side = 4 if tiles.shape[1] >= 16 else int(tiles.shape[1] ** 0.5)
    tiles = np.broadcast_to(tiles[:, : side * side], (len(tiles), side * side, *tiles.shape[2:4], 3))
    captions = [
        f"Principal components of E; the first {side * side} hold {percent(share[: side * side].sum(), 0)}"
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


def _distance_picture(frames: Sequence[Frame], config: RunConfig) -> Picture:
    title = "Attention distance, px"
    if any(frame.distance_px is None for frame in frames):
        gone = config.model.kind == "vit"
        return _absent(
            "distance", title, GONE if gone else "Distance needs attention between patches of one grid."
        )
    first = frames[0]
    # Of one patch every distance is 0.
    top = corner_distance_px(first.grid, first.patch_px) * 0.75 or first.patch_px
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


def _confusion_picture(frames: Sequence[Frame]) -> Picture | None:
    if any(frame.counts is None for frame in frames):
        return _absent("confusion", "Confusion", GONE)
    classes = frames[-1].classes
    if len(classes) > 20:
        return None
    maps = np.stack([confusion.confusion_shares(frame.counts) for frame in frames])[:, None, None]
    captions = []
    for frame in frames:
        most = confusion.most_confused(frame.counts)
        right = frame.counts.trace() / max(1, frame.counts.sum())
        words = f"{percent(right)} of {frame.counts.sum()} held-out pictures are right"
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


def _worst_picture(frames: Sequence[Frame]) -> Picture:
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

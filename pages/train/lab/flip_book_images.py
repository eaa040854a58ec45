"""Pictures of all snapshots of a run, put together from their frames: the pages of the lab's flip-book."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis import confusion, filters, position_similarity
from vitviz.analysis.distance import corner_distance_px, uniform_distance_px
from vitviz.models.abilities import abilities, as_vit
from vitviz.pin import Pin
from vitviz.plots.run_history import Picture, to_bytes
from vitviz.text import percent, plural, signed

if TYPE_CHECKING:
    from vitviz.config import ModelConfig
    from vitviz.data.preparation import Prepared
    from vitviz.probe.snapshot import Frame, Inside

T = TypeVar("T")
COMPONENTS = 16
MOST_NAMES = 20  # classes of a table that can be read
GONE = "The pictures that this run was trained on are not on this server."


def pictures(
    config: ModelConfig,
    frames: Sequence[Frame],
    attention: Sequence[NDArray[np.floating[Any]] | None],
    seen: Prepared,
    pin: Pin,
) -> list[Picture]:
    """One picture per lens, each with a frame per snapshot.

    Args:
        config: the model's.
        frames, attention: of its snapshots, ascending.
        seen, pin: the picture and the query whose attention is shown.
    """
    if not frames:
        return []
    inside = whole(frame.inside for frame in frames)
    made = [
        _attention_picture(config, whole(attention), seen, pin),
        _similarity_picture(inside),
        _filters_picture(inside),
        _distance_picture(config, inside),
        _confusion_picture(frames),
        _worst_picture(frames),
    ]
    return [picture for picture in made if picture is not None]


def whole(values: Iterable[T | None]) -> list[T] | None:
    """The values, where none is missing."""
    found = list(values)
    there = [value for value in found if value is not None]
    return there if len(there) == len(found) else None


def _absent(name: str, title: str, reason: str) -> Picture:
    return Picture(name, title, "none", reason=reason)


def _attention_picture(
    config: ModelConfig, attention: Sequence[NDArray[np.floating[Any]]] | None, seen: Prepared, pin: Pin
) -> Picture:
    if attention is None:
        return _absent("attention", "Attention", "This model has no attention between patches of a grid.")
    maps = np.stack(attention)  # (S, layers, heads, rows, cols)
    layers, heads, rows, cols = maps.shape[1:]
    tops = [float(frame.max()) or 1.0 for frame in maps]
    even = 1 / (rows * cols + len(as_vit(config).prefix_tokens))
    captions = [
        f"The strongest weight, {frame.max():.2f}, is in layer"
        f" {int(frame.max(axis=(1, 2, 3)).argmax()) + 1}; even attention would give {even:.2f}."
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
        f"Attention of the pinned {'patch' if mark else 'token'}",
        "overlay",
        np.stack([to_bytes(frame, 0.0, top) for frame, top in zip(maps, tops, strict=True)]),
        tops=tops,
        captions=captions,
        page="attention",
        opens="the attention explorer",
        extra=extra,
        base=_greyed(seen),
    )


def _greyed(seen: Prepared) -> NDArray[np.uint8]:
    grey = seen.shown.astype(np.float32).mean(axis=2, keepdims=True)
    return np.repeat(np.round(grey * 0.8 + 25).astype(np.uint8), 3, axis=2)


def _similarity_picture(inside: Sequence[Inside] | None) -> Picture:
    title = "Similarity of positions"
    tables = whole(one.similarity for one in inside or ())
    if not inside or not tables:
        return _absent("similarity", title, "This model has no table of positions to compare.")
    rows, cols = grid = inside[0].grid
    captions = []
    for table in tables:
        found = position_similarity.structure(table, grid)
        captions.append(
            f"Neighbours {signed(found.either_step)}, pairs that share neither row nor column"
            f" {signed(found.elsewhere)}."
            if min(rows, cols) > 1
            else f"A grid of {plural(rows * cols, 'patch', 'patches')} has no neighbours both ways to compare."
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
        opens="positional encodings",
        extra={"tile": "position"},
    )


def _filters_picture(inside: Sequence[Inside] | None) -> Picture:
    weights = whole(one.weights for one in inside or ())
    if not weights:
        return _absent("filters", "Filters of E", "This model has no single linear patch embedding.")
    maps, shares = filters.components_over_time(weights, COMPONENTS)
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


def _distance_picture(config: ModelConfig, inside: Sequence[Inside] | None) -> Picture:
    title = "Attention distance, px"
    far = whole(one.distance_px for one in inside or ())
    if not inside or not far:
        seen = abilities(config).heads_over_all
        return _absent(
            "distance", title, GONE if seen else "Distance needs attention between patches of one grid."
        )
    grid, patch_px = inside[0].grid, inside[0].patch_px
    # Of one patch every distance is 0.
    top = corner_distance_px(grid, patch_px) * 0.75 or patch_px
    even = uniform_distance_px(grid, patch_px, len(as_vit(config).prefix_tokens))
    captions = [
        f"Heads look {heads.min():.1f} to {heads.max():.1f} px far; even attention {even:.1f} px."
        for heads in far
    ]
    return Picture(
        "distance",
        title,
        "dots",
        to_bytes(np.stack(far), 0.0, top),
        hi=top,
        captions=captions,
        page="attention_distance",
        opens="attention distance",
    )


def _confusion_picture(frames: Sequence[Frame]) -> Picture | None:
    judged = whole(frame.judged for frame in frames)
    if judged is None:
        return _absent("confusion", "Confusion", GONE)
    classes = frames[-1].classes
    if len(classes) > MOST_NAMES:
        return None
    maps = np.stack([confusion.confusion_shares(one.counts) for one in judged])[:, None, None]
    captions = []
    for one in judged:
        count = int(one.counts.sum())
        words = (
            f"{percent(one.counts.trace() / max(1, count))} of {plural(count, 'held-out picture')} are right"
        )
        captions.append(f"{words}{_most_often(one.counts, classes)}.")
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


def _most_often(counts: NDArray[np.int64], classes: Sequence[str]) -> str:
    """The mistake that is made most often; of several that are made once none is."""
    most = confusion.most_confused(counts)
    if most is None:
        return ""
    if most[2] == 1 and counts.sum() - counts.trace() > 1:
        return "; no mistake is made twice"
    read = f"{classes[most[0]]} is read as {classes[most[1]]}"
    return f"; one {read}" if most[2] == 1 else f"; most often {read} ({most[2]:,} times)"


def _worst_picture(frames: Sequence[Frame]) -> Picture:
    judged = whole(frame.judged for frame in frames)
    if judged is None:
        return _absent("worst", "Most wrong", GONE)
    tiles = np.stack([one.worst for one in judged])
    count = tiles.shape[1]
    wide = 3 if count % 3 == 0 else count
    return Picture(
        "worst",
        "Most wrong",
        "rgb",
        tiles.reshape(len(tiles), count // wide, wide, *tiles.shape[2:]),
        captions=[
            f"True class, and the probability that it gets; least of all {', '.join(one.worst_words[:1])}."
            for one in judged
        ],
        tiles=[list(one.worst_words) for one in judged],
    )

"""What each part of a journey holds, as the map's message says it: facts for its header, and arrays in few bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import quantise_rows
from vitviz.analysis.journey import (
    Attended,
    Classes,
    Cut,
    Embedded,
    FloatArray,
    Heads,
    Journey,
    Maps,
    Merged,
    Normed,
    Part,
    Pooled,
    Positions,
    Prefix,
    components,
    cosines,
    most_varied,
)
from vitviz.plots.map_words import ModelWords, added_to_one, why_added

CHANNELS = 64  # of a vector that a strip shows
MAPS = 4  # channels of a level, or of E, that are drawn
MANY = 100  # rows of vectors, of which fewer channels travel
STREAM = 32  # channels of the stream in and behind every block, which travel for all tokens
MOST_STREAM = 80_000  # bytes of them; of a larger model none
MOST_PAIRS = 100**2  # of a table's cosines; of a larger one the chosen token's row alone
MOST_ROWS = 6_000  # weights of all heads' rows over all blocks; of a larger model the mean alone
SHOWN_CLASSES = 10

Arrays = dict[str, NDArray[Any]]
Facts = dict[str, Any]


@dataclass(frozen=True)
class Scene:
    """What the map says of a model beside its numbers.

    token: whose row of a table of positions travels where the table is too large to travel whole.
    """

    title: str
    trained: bool
    step: int
    family: str
    words: ModelWords
    classes: tuple[str, ...]
    token: int = 0


# ---------------------------------------------------------------- numbers in eight bits


def strip(vectors: FloatArray, channels: int | None = None) -> tuple[Facts, NDArray[np.int8]]:
    """Rows (n, D) as int8 of their first channels, fewer of many rows: value = code / 127 · scale."""
    channels = channels or (CHANNELS if len(vectors) <= MANY else STREAM)
    kept = np.asarray(vectors, np.float32)[:, :channels]
    scale = float(np.abs(kept).max(initial=0)) or 1.0
    return {"scale": scale}, np.rint(kept * (127 / scale)).astype(np.int8)


def eighths(maps: FloatArray, signed: bool) -> tuple[list[float], list[float], NDArray[np.uint8]]:
    """Maps (k, h, w) as bytes between a least and a greatest value each: value = lo + byte / 255 · (hi − lo).

    Args:
        signed: whether zero stands in the middle, so lo = −hi.
    """
    flat = np.asarray(maps, np.float64).reshape(len(maps), -1)
    hi = np.abs(flat).max(axis=1) if signed else flat.max(axis=1)
    lo = -hi if signed else flat.min(axis=1)
    span = np.where(hi > lo, hi - lo, 1.0)
    codes = np.rint((flat - lo[:, None]) * (255 / span[:, None])).astype(np.uint8)
    return lo.tolist(), hi.tolist(), codes.reshape(maps.shape)


def counted(values: NDArray[np.integer[Any]], most: int) -> NDArray[Any]:
    """Indices below `most` in as few bytes as hold them."""
    return values.astype(np.uint8 if most <= 256 else np.uint16)


# ---------------------------------------------------------------- what each part holds


def _nothing(part: Part, journey: Journey, scene: Scene) -> tuple[Facts, Arrays]:
    return {}, {}


def _embedded(part: Part, journey: Journey, scene: Scene) -> tuple[Facts, Arrays]:
    content = part.content
    assert isinstance(content, Embedded) and part.tokens is not None
    maps = content.vectors.T.reshape(-1, *part.tokens.grid)
    channels = most_varied(maps, MAPS)
    lo, hi, codes = eighths(maps[channels], signed=True)
    facts, vectors = strip(content.vectors)
    arrays: Arrays = {
        "length": np.linalg.norm(content.vectors, axis=-1).astype(np.float32),
        "maps": codes,
        "vectors": vectors,
    }
    if content.filters is not None:
        rows = content.filters[channels]
        tiles = eighths(rows.reshape(len(rows), -1, 1), signed=True)[2].reshape(rows.shape)
        arrays["filters"] = np.ascontiguousarray(np.moveaxis(tiles, 1, -1))
    return {"channels": channels.tolist(), "lo": lo, "hi": hi, **facts}, arrays


def _maps(part: Part, journey: Journey, scene: Scene) -> tuple[Facts, Arrays]:
    content = part.content
    assert isinstance(content, Maps)
    levels, arrays = [], {}
    for index, level in enumerate(content.levels):
        channels = most_varied(level.maps, MAPS)
        lo, hi, arrays[str(index)] = eighths(level.maps[channels], signed=False)
        levels.append(
            {
                "title": level.title,
                "channels": channels.tolist(),
                "lo": lo,
                "hi": hi,
                "shape": list(level.maps.shape),
            }
        )
    last = content.levels[-1].maps
    arrays["length"] = np.linalg.norm(last, axis=0).reshape(-1).astype(np.float32)
    return {"levels": levels, "grid": list(last.shape[1:])}, arrays


def _prefix(part: Part, journey: Journey, scene: Scene) -> tuple[Facts, Arrays]:
    content = part.content
    assert isinstance(content, Prefix) and part.tokens is not None
    facts, vectors = strip(content.vectors)
    sizes = np.linalg.norm(content.vectors, axis=-1)
    return {"names": list(part.tokens.prefix), "lengths": _floats(sizes), **facts}, {"vectors": vectors}


def _positions(part: Part, journey: Journey, scene: Scene) -> tuple[Facts, Arrays]:
    content = part.content
    assert isinstance(content, Positions) and part.tokens is not None
    table, prefix = content.table, len(part.tokens.prefix)
    own = scene.token if content.on_prefix else max(scene.token - prefix, 0)
    whole = len(table) ** 2 <= MOST_PAIRS
    cosine = cosines(table)
    patches = table[prefix:] if content.on_prefix else table
    scores, explained = components(patches)
    _, hi, codes = eighths(scores.reshape(len(scores), *part.tokens.grid), signed=True)
    facts, vectors = strip(table)
    return {
        "rows": len(table),
        "on_prefix": content.on_prefix,
        "learned": content.learned,
        "called": "second map" if content.of_pixels else "its place",
        "what": added_to_one(content),
        "why": why_added(content, scene.words),
        "only": -1 if whole else own,
        "explained": _floats(explained),
        "hi": hi,
        **facts,
    }, {
        "cosine": np.rint(127 * (cosine if whole else cosine[own : own + 1])).astype(np.int8),
        "components": codes,
        "length": np.linalg.norm(table, axis=-1).astype(np.float32),
        "vectors": vectors,
    }


def _attended(part: Part, journey: Journey, scene: Scene) -> tuple[Facts, Arrays]:
    content = part.content
    assert isinstance(content, Attended) and part.tokens is not None
    blocks = [p.content for p in journey.parts if isinstance(p.content, Attended)]
    several = sum(block.rows.size for block in blocks) <= MOST_ROWS
    kept = slice(None) if several else slice(1)
    tokens = part.tokens.count
    codes, most = quantise_rows(content.rows[kept])
    arrays: Arrays = {
        "row": codes,
        "row_max": most,
        "keys": counted(content.strongest.keys, tokens),
        "weights": np.rint(content.strongest.weights * 65535).astype(np.uint16),
        "head_of": counted(content.strongest.heads, 256),
        "lengths": content.lengths.astype(np.float32),
    }
    facts: Facts = {}
    if sum(2 * STREAM * block.stream.shape[1] for block in blocks) <= MOST_STREAM:
        scale, values = strip(content.stream.reshape(2 * tokens, -1), STREAM)
        arrays["stream"], facts = values.reshape(2, tokens, -1), {"stream_scale": scale["scale"]}
    if content.second is not None:
        arrays["row_dist"], arrays["row_dist_max"] = quantise_rows(content.second[kept])
    if content.window is not None:
        arrays["window"] = counted(content.window, int(content.window.max()) + 1)
    return {
        "layer": content.layer,
        "stage": content.stage,
        "heads": content.heads,
        "row_of": content.row_of,
        "window": None if content.window_grid is None else list(content.window_grid),
        "shifted": content.shifted,
        "pre_norm": scene.words.pre_norm,
        **facts,
    }, arrays


def _merged(part: Part, journey: Journey, scene: Scene) -> tuple[Facts, Arrays]:
    content = part.content
    assert isinstance(content, Merged)
    sizes = np.linalg.norm(content.vectors, axis=-1).astype(np.float32)
    return {"stage": content.stage}, {"length": sizes}


def _normed(part: Part, journey: Journey, scene: Scene) -> tuple[Facts, Arrays]:
    content = part.content
    assert isinstance(content, Normed)
    before, after = (np.asarray(sizes, np.float32) for sizes in (content.before, content.after))
    return {"token": content.token}, {"in_length": before, "length": after}


def _pooled(part: Part, journey: Journey, scene: Scene) -> tuple[Facts, Arrays]:
    content = part.content
    assert isinstance(content, Pooled)
    facts, vectors = strip(content.vector[None])
    return {"how": content.how, **facts}, {"vectors": vectors}


def _heads(part: Part, journey: Journey, scene: Scene) -> tuple[Facts, Arrays]:
    content = part.content
    assert isinstance(content, Heads)
    classes = next(p.content for p in journey.parts if isinstance(p.content, Classes))
    facts, vectors = strip(content.vectors)
    shown = content.weights[:, shown_classes(classes)]
    scale, weights = strip(shown.reshape(-1, shown.shape[-1]))
    return {"names": list(content.names), "weights_scale": scale["scale"], **facts}, {
        "vectors": vectors,
        "weights": weights.reshape(*shown.shape[:2], -1),
    }


CONTENTS: dict[type, Callable[[Part, Journey, Scene], tuple[Facts, Arrays]]] = {
    type(None): _nothing,
    Cut: _nothing,
    Classes: _nothing,
    Embedded: _embedded,
    Maps: _maps,
    Prefix: _prefix,
    Positions: _positions,
    Attended: _attended,
    Merged: _merged,
    Normed: _normed,
    Pooled: _pooled,
    Heads: _heads,
}


def shown_classes(content: Classes) -> NDArray[np.integer[Any]]:
    """Indices of the classes that are shown: all of few, the most probable of many."""
    if len(content.logits) <= SHOWN_CLASSES:
        return np.arange(len(content.logits))
    return np.argsort(-content.probabilities, kind="stable")[:SHOWN_CLASSES]


def class_facts(content: Classes, scene: Scene) -> tuple[Facts, Arrays]:
    index = shown_classes(content)
    arrays: Arrays = {
        name: np.asarray(values, np.float32)[..., index]
        for name, values in (
            ("logits", content.logits),
            ("probabilities", content.probabilities),
            ("logits_cls", content.by_cls),
            ("logits_dist", content.by_dist),
            ("lens", content.lens),
        )
        if values is not None
    }
    combined = "The mean of both heads' scores, as timm combines them." if content.by_dist is not None else ""
    return {
        "names": [scene.classes[i] for i in index],
        "index": index.tolist(),
        "truth": -1,
        "combined": combined,
        "lens_why_not": content.why_no_lens,
    }, arrays


def _floats(values: Sequence[float] | FloatArray) -> list[float]:
    return [float(value) for value in values]

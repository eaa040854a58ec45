"""Encode the content of each part for the map's message: header fields, and arrays of few bytes."""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import quantise_rows
from vitviz.analysis.forward_pass import (
    AddedPositions,
    BlockPass,
    ClassifierHeads,
    ClassScores,
    Content,
    EmbeddedPatches,
    FeatureMaps,
    FloatArray,
    Journey,
    MergedTokens,
    NormedTokens,
    Part,
    PooledVector,
    PrefixTokens,
    select_varied_channels,
)
from vitviz.analysis.position_similarity import cosine_similarity
from vitviz.plots.blob import describe
from vitviz.plots.map_words import ModelTraits, explain_positions, name_added_vector

CHANNELS = 64  # channels of a vector that a strip shows
MAPS = 4  # drawn channels of a level or of E
MANY = 100  # with more vectors than this, fewer channels are sent
STREAM = 32  # channels of the residual stream that are sent for all tokens of a block
MOST_STREAM = 80_000  # bytes of the stream; a larger model sends none
MOST_PAIRS = 100**2  # cosines of a position table; a larger one sends only the pinned token's row
SHOWN_CLASSES = 10

Arrays = dict[str, NDArray[Any]]
Facts = dict[str, Any]


@dataclass(frozen=True)
class MapModel:
    """Description of a model for the map, besides its numbers.

    token: its row of the position table is sent if the whole table is too large.
    """

    family: str
    words: ModelTraits
    classes: tuple[str, ...]
    token: int = 0


def quantise_vectors(vectors: FloatArray, channels: int | None = None) -> tuple[Facts, NDArray[np.int8]]:
    """Quantise the first channels of rows (n, D) to int8: value = code / 127 · scale."""
    channels = channels or (CHANNELS if len(vectors) <= MANY else STREAM)
    shown = np.asarray(vectors, np.float32)[:, :channels]
    scale = float(np.abs(shown).max(initial=0)) or 1.0
    return {"scale": scale}, np.rint(shown * (127 / scale)).astype(np.int8)


def quantise_maps(maps: FloatArray, signed: bool) -> NDArray[np.uint8]:
    """Quantise maps (k, h, w) to bytes, each over its own range, which is symmetric around zero if `signed`."""
    flat = np.asarray(maps, np.float64).reshape(len(maps), -1)
    hi = np.abs(flat).max(axis=1) if signed else flat.max(axis=1)
    lo = -hi if signed else flat.min(axis=1)
    span = np.where(hi > lo, hi - lo, 1.0)
    codes: NDArray[np.uint8] = np.rint((flat - lo[:, None]) * (255 / span[:, None])).astype(np.uint8)
    return codes.reshape(maps.shape)


@singledispatch
def encode_content(content: Content, part: Part, journey: Journey, model: MapModel) -> tuple[Facts, Arrays]:
    """Return the header fields and arrays of a part; the image, its patches and the classes have none here."""
    return {}, {}


@encode_content.register
def _(content: EmbeddedPatches, part: Part, journey: Journey, model: MapModel) -> tuple[Facts, Arrays]:
    assert part.tokens is not None
    maps = content.vectors.T.reshape(-1, *part.tokens.grid)
    channels = select_varied_channels(maps, MAPS)
    facts, vectors = quantise_vectors(content.vectors)
    arrays: Arrays = {
        "length": np.linalg.norm(content.vectors, axis=-1).astype(np.float32),
        "vectors": vectors,
    }
    if content.filters is None:
        arrays["maps"] = quantise_maps(maps[channels], signed=True)
    else:
        rows = content.filters[channels]
        tiles = quantise_maps(rows.reshape(len(rows), -1, 1), signed=True).reshape(rows.shape)
        arrays["filters"] = np.ascontiguousarray(np.moveaxis(tiles, 1, -1))
    return facts, arrays


@encode_content.register
def _(content: FeatureMaps, part: Part, journey: Journey, model: MapModel) -> tuple[Facts, Arrays]:
    last = content.levels[-1].maps
    codes = quantise_maps(last[select_varied_channels(last, MAPS)], signed=False)
    return {"levels": [level.title for level in content.levels], "grid": list(last.shape[1:])}, {
        "maps": codes
    }


@encode_content.register
def _(content: PrefixTokens, part: Part, journey: Journey, model: MapModel) -> tuple[Facts, Arrays]:
    facts, vectors = quantise_vectors(content.vectors)
    return facts, {"vectors": vectors}


@encode_content.register
def _(content: AddedPositions, part: Part, journey: Journey, model: MapModel) -> tuple[Facts, Arrays]:
    assert part.tokens is not None
    table, prefix = content.table, len(part.tokens.prefix)
    row = model.token if content.on_prefix else max(model.token - prefix, 0)
    all_rows = len(table) ** 2 <= MOST_PAIRS
    cosine = cosine_similarity(table)
    facts, vectors = quantise_vectors(table)
    return {
        "on_prefix": content.on_prefix,
        "called": "second map" if content.of_pixels else "position",
        "what": name_added_vector(content),
        "why": explain_positions(content, model.words),
        **facts,
    }, {
        "cosine": np.rint(127 * (cosine if all_rows else cosine[row : row + 1])).astype(np.int8),
        "length": np.linalg.norm(table, axis=-1).astype(np.float32),
        "vectors": vectors,
    }


@encode_content.register
def _(content: BlockPass, part: Part, journey: Journey, model: MapModel) -> tuple[Facts, Arrays]:
    assert part.tokens is not None
    blocks = [p.content for p in journey.parts if isinstance(p.content, BlockPass)]
    tokens = part.tokens.count
    codes, most = quantise_rows(content.row[None])
    arrays: Arrays = {
        "row": codes,
        "row_max": most,
        "keys": content.strongest.keys.astype(np.uint8 if tokens <= 256 else np.uint16),
        "weights": np.rint(content.strongest.weights * 65535).astype(np.uint16),
        "lengths": content.lengths.astype(np.float32),
    }
    facts: Facts = {}
    if sum(2 * STREAM * block.stream.shape[1] for block in blocks) <= MOST_STREAM:
        scale, values = quantise_vectors(content.stream.reshape(2 * tokens, -1), STREAM)
        arrays["stream"], facts = values.reshape(2, tokens, -1), {"stream_scale": scale["scale"]}
    return describe(content, "layer", "stage", "row_of", "shifted", "window") | facts, arrays


@encode_content.register
def _(content: MergedTokens, part: Part, journey: Journey, model: MapModel) -> tuple[Facts, Arrays]:
    sizes = np.linalg.norm(content.vectors, axis=-1).astype(np.float32)
    return {"stage": content.stage}, {"length": sizes}


@encode_content.register
def _(content: NormedTokens, part: Part, journey: Journey, model: MapModel) -> tuple[Facts, Arrays]:
    before, after = (np.asarray(sizes, np.float32) for sizes in (content.before, content.after))
    return {"token": content.token}, {"in_length": before, "length": after}


@encode_content.register
def _(content: PooledVector, part: Part, journey: Journey, model: MapModel) -> tuple[Facts, Arrays]:
    facts, vectors = quantise_vectors(content.vector[None])
    return {"how": content.how, **facts}, {"vectors": vectors}


@encode_content.register
def _(content: ClassifierHeads, part: Part, journey: Journey, model: MapModel) -> tuple[Facts, Arrays]:
    classes = next(p.content for p in journey.parts if isinstance(p.content, ClassScores))
    facts, vectors = quantise_vectors(content.vectors)
    shown = content.weights[:, select_classes(classes)]
    _, weights = quantise_vectors(shown.reshape(-1, shown.shape[-1]))
    return {"names": list(content.names), **facts}, {
        "vectors": vectors,
        "weights": weights.reshape(*shown.shape[:2], -1),
    }


def select_classes(content: ClassScores) -> NDArray[np.integer[Any]]:
    """Return the indices of the shown classes: all of them, or the `SHOWN_CLASSES` most probable."""
    if len(content.logits) <= SHOWN_CLASSES:
        return np.arange(len(content.logits))
    return np.argsort(-content.probabilities, kind="stable")[:SHOWN_CLASSES]


def encode_classes(content: ClassScores, model: MapModel) -> tuple[Facts, Arrays]:
    index = select_classes(content)
    arrays: Arrays = {
        name: np.asarray(values, np.float32)[..., index]
        for name, values in (
            ("logits", content.logits),
            ("probabilities", content.probabilities),
            ("lens", content.lens),
        )
        if values is not None
    }
    return {
        "names": [model.classes[i] for i in index],
        "index": index.tolist(),
        "truth": -1,
    }, arrays

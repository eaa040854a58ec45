"""One part of the map opened: the model's own numbers of one operation, its inputs and its output, for one token."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.journey import (
    Embedded,
    Grid,
    Journey,
    Maps,
    Positions,
    Prefix,
)
from vitviz.analysis.opened_part import (
    Opened,
    Operation,
    bars,
    normed,
    product,
    summed,
    table,
    vector,
)
from vitviz.analysis.part_request import Asked
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.part_answer import open_classes, open_head, open_norm, open_pool
from vitviz.probe.part_block import open_block, open_merging
from vitviz.probe.part_inputs import EmbeddingOfPatch, Scene, embedding_of, opened_of
from vitviz.probe.part_maps import open_level, open_stem
from vitviz.text import signed

FloatArray = NDArray[np.float32]
CHANNELS = 3  # outputs of E that are multiplied out
MAPS = 12


def open_part(model: LoadedModel, values: FloatArray, way: Journey, asked: Asked) -> Opened | None:
    """A part's operations and tables for a token; None where the model has no such part, or none to open.

    Args:
        model: any family.
        values: (C, S, S), prepared.
        way: the picture's `journey` through the model.
        asked: checked by `Asked.parse`; a head, class or channel that is not there falls back to the part's own.
    """
    part = way.part(asked.part)
    if part is None or part.content is None:
        return None
    first = part.id.partition(".")[0]
    if first not in _OPENS:
        return None
    return _OPENS[first](Scene(model, values, way, part, asked))


# ---------------------------------------------------------------- E


def _embed(scene: Scene) -> Opened:
    content = scene.part.content
    assert isinstance(content, Embedded)
    way = embedding_of(scene.model, scene.values, scene.cell)
    token = way.linear
    order = np.argsort(-np.abs(token), kind="stable")
    chosen = scene.asked.within(len(token), scene.asked.channel, int(order[0]))
    shown = [chosen, *(int(i) for i in order if i != chosen)][:CHANNELS]
    bias, shape = way.bias, scene.part.shape_out
    square = way.x.shape[1] > 1 or way.x.shape[0] <= 3
    operations = [_pixels(way.x)] if square else []
    operations += [_times_column(way, channel, square) for channel in shown]
    operations.append(vector("The token, before its position", "x E + b", token, shape))
    if way.normed is not None:
        operations.append(normed("LayerNorm", "LN(x E + b)", token, way.normed, shape))
    flat = way.x.reshape(-1)
    columns = {"x": flat} | {f"column {c + 1}": way.weight[c].reshape(-1) for c in shown}
    columns |= {f"x · column {c + 1}": flat * way.weight[c].reshape(-1) for c in shown}
    tables = [
        table("The patch times columns of E", "patch_times_E.csv", columns),
        table("The token", "token.csv", {"sum": token - bias, "bias": bias, "token": token}),
    ]
    patch = len(scene.tokens.prefix) + scene.cell
    return opened_of(scene, patch, operations, tables, channel=chosen)


def _pixels(x: FloatArray) -> Operation:
    low, high = float(x.min()), float(x.max())
    numbers = f"{x.size} numbers between {signed(low)} and {signed(high)}"
    facts = {"lo": low, "hi": high}
    return Operation("pixels", "The patch, as numbers", "x ∈ ℝ^(P²C)", numbers, x, shape=x.shape, facts=facts)


def _times_column(way: EmbeddingOfPatch, channel: int, square: bool) -> Operation:
    """One channel of the token: a patch of pixels as a picture, a patch of many maps as bars."""
    title, bias = f"Times column {channel + 1} of E", float(way.bias[channel])
    if square:
        return product(title, way.x, way.weight[channel], bias, channel)
    shares = (way.x * way.weight[channel]).reshape(-1)
    return bars(title, "x · e + b", shares, lambda i: f"channel {i + 1} of the maps", bias)


def _prefix(scene: Scene) -> Opened:
    content = scene.part.content
    assert isinstance(content, Prefix)
    names = [f"[{name.upper()}]" for name in scene.tokens.prefix]
    what = "Learned tokens" if len(names) > 1 else "A learned token"
    sizes = ", ".join(
        f"{name} {np.linalg.norm(row):.2f} long" for name, row in zip(names, content.vectors, strict=True)
    )
    step = vector(what, "[x_class; x₁E; …; x_N E]", content.vectors, scene.part.shape_out, names, sizes)
    columns = dict(zip(names, content.vectors, strict=True))
    return opened_of(scene, 0, [step], [table(what, "prefix_tokens.csv", columns)])


def _positions(scene: Scene) -> Opened:
    content = scene.part.content
    assert isinstance(content, Positions)
    prefix = len(scene.tokens.prefix)
    token = scene.token if content.on_prefix else prefix + scene.cell
    row = token if content.on_prefix else token - prefix
    before = _before_positions(scene.way, token)
    place = content.table[row]
    name = "second map" if content.of_pixels else "position"
    step = summed(
        "The token plus a second map of its pixels" if content.of_pixels else "The token plus its position",
        "z₀ = x E + e_pos",
        before,
        place,
        ("token", name, "z₀"),
        scene.part.shape_out,
    )
    patches = content.table[prefix:] if content.on_prefix else content.table
    sizes = np.linalg.norm(patches, axis=1) * np.linalg.norm(place)
    alike = np.divide(patches @ place, sizes, out=np.zeros(len(patches)), where=sizes > 0)
    likeness = _likeness(alike, scene.tokens.grid, row - prefix if content.on_prefix else row)
    columns = {"token": before, name: place, "sum": before + place}
    tables = [
        table("Token and position", "token_and_position.csv", columns),
        table("Cosine with every place", "cosines.csv", {"cosine": alike}),
    ]
    return opened_of(scene, token, [step, likeness], tables)


def _likeness(alike: FloatArray, grid: Grid, cell: int) -> Operation:
    """The cosines (N,) of what is added at a cell with what is added at every one; -1: at a prefix token."""
    others = np.delete(alike, cell) if cell >= 0 else alike
    numbers = (
        f"with the other places {signed(float(others.min()))} to {signed(float(others.max()))}"
        if others.size
        else "there is one place, and no other to compare it with"
    )
    return Operation(
        "maps",
        "How alike what is added here is to what is added elsewhere",
        "cos(e_pos, e_pos′)",
        numbers,
        alike.reshape(1, *grid),
        shape=grid,
        facts={"names": ["cosine"], "lo": -1.0, "hi": 1.0},
    )


def _before_positions(way: Journey, token: int) -> FloatArray:
    """A token of the sequence before anything is added for its place."""
    prefix, embedded = way.part("prefix"), way.part("embed")
    first = 0
    if prefix is not None and isinstance(prefix.content, Prefix):
        first = len(prefix.content.vectors)
        if token < first:
            return np.asarray(prefix.content.vectors[token])
    assert embedded is not None and isinstance(embedded.content, Embedded)
    return np.asarray(embedded.content.vectors[token - first])


# ---------------------------------------------------------------- blocks, maps


def _block(scene: Scene) -> Opened:
    asked = scene.asked
    return open_block(scene.model, scene.values, scene.part, scene.token, asked.head)


def _merge(scene: Scene) -> Opened:
    return open_merging(scene.model, scene.values, scene.part, scene.cell)


def _stem(scene: Scene) -> Opened:
    content = scene.part.content
    assert isinstance(content, Maps)
    return open_stem(scene.model, scene.values, scene.part, scene.asked.pin, scene.asked.channel)


def _stage(scene: Scene) -> Opened:
    before = scene.way.parts[scene.way.parts.index(scene.part) - 1].content
    assert isinstance(before, Maps)
    return open_level(scene.model, before.levels[-1].maps, scene.part, scene.asked.pin, scene.asked.channel)


_OPENS: dict[str, Callable[[Scene], Opened]] = {
    "embed": _embed,
    "prefix": _prefix,
    "positions": _positions,
    "block": _block,
    "merge": _merge,
    "stem": _stem,
    "stage": _stage,
    "norm": open_norm,
    "pool": open_pool,
    "head": open_head,
    "classes": open_classes,
}

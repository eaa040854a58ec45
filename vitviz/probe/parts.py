"""One part of the map opened: the model's own numbers of one operation, its inputs and its output, for one token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.asked import Asked
from vitviz.analysis.journey import (
    Classes,
    Embedded,
    Heads,
    Journey,
    Maps,
    Normed,
    Part,
    Pooled,
    Positions,
    Prefix,
    Tokens,
    most_varied,
)
from vitviz.analysis.opened import (
    Opened,
    Operation,
    Table,
    bars,
    maps,
    name_of,
    normed,
    product,
    softmax_row,
    summed,
    table,
    vector,
)
from vitviz.models.loaded import LoadedModel
from vitviz.pin import Pin
from vitviz.probe.part_block import open_block, open_merging
from vitviz.probe.part_maps import open_level, open_stem
from vitviz.probe.part_inputs import embedding_of, last_tokens
from vitviz.words import percent, signed

FloatArray = NDArray[np.float32]
CHANNELS = 3  # outputs of E that are multiplied out
MAPS = 12


@dataclass(frozen=True, eq=False)
class Scene:
    """What opening a part reads: the model, the picture's values, its whole way, and what was asked."""

    model: LoadedModel
    values: FloatArray
    way: Journey
    part: Part
    asked: Asked

    @property
    def tokens(self) -> Tokens:
        """Those that leave the part; the first sequence's where none do."""
        return self.part.tokens or self.way.sequence

    @property
    def token(self) -> int:
        """The pinned token among them."""
        return token_of(self.tokens, self.asked.pin)

    @property
    def cell(self) -> int:
        """The pinned cell of their grid; a prefix token has none, so the middle stands for it."""
        return self.asked.pin.cell(self.tokens.grid)


def token_of(tokens: Tokens, pin: Pin) -> int:
    """Index of a pin's token in a sequence."""
    if pin.prefix in tokens.prefix:
        return tokens.prefix.index(pin.prefix)
    return len(tokens.prefix) + pin.cell(tokens.grid)


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


def _opened(scene: Scene, token: int, operations: list[Operation], tables: list[Table], **chosen: int | None) -> Opened:
    name = name_of(scene.tokens, token)
    return Opened(scene.part.id, token, name, tuple(operations), tuple(tables), **chosen)


# ---------------------------------------------------------------- E


def _embed(scene: Scene) -> Opened:
    content = scene.part.content
    assert isinstance(content, Embedded)
    way = embedding_of(scene.model, scene.values, scene.cell)
    token = way.linear
    order = np.argsort(-np.abs(token), kind="stable")
    chosen = scene.asked.within(len(token), scene.asked.channel, int(order[0]))
    shown = [chosen, *(int(i) for i in order if i != chosen)][:CHANNELS]
    bias = way.bias
    square = way.x.shape[1] > 1 or way.x.shape[0] <= 3
    operations = []
    if square:
        low, high = float(way.x.min()), float(way.x.max())
        numbers = f"{way.x.size} numbers between {signed(low)} and {signed(high)}"
        facts = {"lo": low, "hi": high}
        operations.append(
            Operation("pixels", "The patch, as numbers", "x ∈ ℝ^(P²C)", numbers, way.x, shape=way.x.shape, facts=facts)
        )
    for channel in shown:
        title = f"Times row {channel + 1} of E"
        if square:
            operations.append(product(title, way.x, way.weight[channel], float(bias[channel]), channel))
        else:
            shares = (way.x * way.weight[channel]).reshape(-1)
            operations.append(
                bars(title, "x · e + b", shares, lambda i: f"channel {i + 1} of the maps", float(bias[channel]))
            )
    shape = scene.part.shape_out
    operations.append(vector("The token, before its position", "x E + b", token, shape))
    if way.normed is not None:
        operations.append(normed("LayerNorm", "LN(x E + b)", token, way.normed, shape))
    flat = way.x.reshape(-1)
    columns = {"x": flat} | {f"row {c + 1}": way.weight[c].reshape(-1) for c in shown}
    columns |= {f"x · row {c + 1}": flat * way.weight[c].reshape(-1) for c in shown}
    tables = [
        table("The patch times rows of E", "patch_times_E.csv", columns),
        table("The token", "token.csv", {"sum": token - bias, "bias": bias, "token": token}),
    ]
    patch = len(scene.tokens.prefix) + scene.cell
    return _opened(scene, patch, operations, tables, channel=chosen)


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
    return _opened(scene, 0, [step], [table(what, "prefix_tokens.csv", columns)])


def _positions(scene: Scene) -> Opened:
    content = scene.part.content
    assert isinstance(content, Positions)
    prefix = len(scene.tokens.prefix)
    token = scene.token if content.on_prefix else prefix + scene.cell
    row = token if content.on_prefix else token - prefix
    before = _before_positions(scene.way, token)
    place = content.table[row]
    step = summed(
        "The token plus its position",
        "z₀ = x E + e_pos",
        before,
        place,
        ("token", "position", "z₀"),
        scene.part.shape_out,
    )
    patches = content.table[prefix:] if content.on_prefix else content.table
    sizes = np.linalg.norm(patches, axis=1) * np.linalg.norm(place)
    alike = np.divide(patches @ place, sizes, out=np.zeros(len(patches)), where=sizes > 0)
    cell = row - prefix if content.on_prefix else row
    others = np.delete(alike, cell) if cell >= 0 else alike
    numbers = f"with the other places {signed(float(others.min()))} to {signed(float(others.max()))}"
    facts = {"names": ["cosine"], "lo": -1.0, "hi": 1.0}
    likeness = Operation(
        "maps",
        "How alike this position is to every other",
        "cos(e_pos, e_pos′)",
        numbers,
        alike.reshape(1, *scene.tokens.grid),
        shape=scene.tokens.grid,
        facts=facts,
    )
    columns = {"token": before, "position": place, "sum": before + place}
    tables = [
        table("Token and position", "token_and_position.csv", columns),
        table("Cosine with every place", "cosines.csv", {"cosine": alike}),
    ]
    return _opened(scene, token, [step, likeness], tables)


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
    return open_level(
        scene.model, before.levels[-1].maps, scene.part, scene.asked.pin, scene.asked.channel
    )


# ---------------------------------------------------------------- the answer


def _norm(scene: Scene) -> Opened:
    content = scene.part.content
    assert isinstance(content, Normed)
    before, after = last_tokens(scene.model, scene.values)
    read = content.token if content.token >= 0 else scene.token
    formula = "LN(z) = γ (z − μ) / √(σ² + ε) + β"
    tokens = [read] if len(scene.way.part("head").content.names if scene.way.part("head") else ()) < 2 else [0, 1]
    operations = [
        normed(f"LayerNorm of {name_of(scene.tokens, t)}", formula, before[t], after[t], scene.part.shape_out)
        for t in tokens
    ]
    columns = {"before": before[read], "after": after[read]}
    return _opened(scene, read, operations, [table("LayerNorm", "last_norm.csv", columns)])


def _winner(scene: Scene) -> int:
    part = scene.way.part("classes")
    if part is None or not isinstance(part.content, Classes):
        return 0
    probabilities = part.content.probabilities
    return scene.asked.within(len(probabilities), scene.asked.chosen_class, int(probabilities.argmax()))


def _pool(scene: Scene) -> Opened:
    content = scene.part.content
    assert isinstance(content, Pooled)
    values = _places(scene)
    head = scene.way.part("head")
    shares = np.abs(content.vector)
    if head is not None and isinstance(head.content, Heads):
        shares = np.abs(content.vector * head.content.weights[0, _winner(scene)])
    channel = scene.asked.within(len(content.vector), scene.asked.channel, int(shares.argmax()))
    one = values[channel]
    said = {"mean": "the mean", "max": "the largest", "first patch": "the first"}[content.how]
    numbers = f"{said} of {one.size} values is {signed(float(content.vector[channel]), 3)}"
    shown = maps(
        f"Channel {channel + 1} at every place", f"{said} over all places", numbers, one[None], [f"channel {channel + 1}"], True
    )
    pooled = vector("All channels", said, content.vector, scene.part.shape_out)
    tables = [
        table(f"Channel {channel + 1} at every place", "places.csv", {"value": one.reshape(-1)}),
        table("What the head reads", "pooled.csv", {"value": content.vector}),
    ]
    return _opened(scene, scene.token, [shown, pooled], tables, channel=channel)


def _places(scene: Scene) -> FloatArray:
    """What is pooled, (channels, h, w)."""
    before = scene.way.parts[scene.way.parts.index(scene.part) - 1].content
    if isinstance(before, Maps):
        return np.asarray(before.levels[-1].maps)
    _, after = last_tokens(scene.model, scene.values)
    last = next(p.tokens for p in reversed(scene.way.parts) if p.tokens is not None)
    patches = after[len(last.prefix) :]
    return np.asarray(patches.T.reshape(-1, *last.grid))


def _head(scene: Scene) -> Opened:
    content, answer = scene.part.content, scene.way.part("classes")
    assert isinstance(content, Heads) and answer is not None and isinstance(answer.content, Classes)
    chosen = _winner(scene)
    name = scene.model.classes[chosen]
    operations, columns = [], {}
    for place, reads in enumerate(content.names):
        y, w, b = content.vectors[place], content.weights[place, chosen], float(content.biases[place, chosen])
        title = f"The score of {name}" + (f", read from [{reads.upper()}]" if len(content.names) > 1 else "")
        operations.append(bars(title, "w · y + b", y * w, lambda i: f"channel {i + 1}", b))
        label = f" [{reads.upper()}]" if len(content.names) > 1 else ""
        columns |= {f"y{label}": y, f"w{label}": w, f"w y{label}": y * w}
    if len(content.names) > 1:
        scores = [operations[i].facts["result"] for i in (0, 1)]
        both = Operation(
            "vector",
            "Both heads together",
            "(first + second) / 2",
            f"({signed(scores[0], 3)} + {signed(scores[1], 3)}) / 2 = {signed(sum(scores) / 2, 3)}",
            np.stack([*_by_heads(answer.content), answer.content.logits]),
            ("[CLS]", "[DIST]", "mean"),
            shape=scene.part.shape_out,
        )
        operations.append(both)
    file = f"score_of_class_{chosen}.csv"
    return _opened(scene, 0, operations, [table(f"The score of {name}", file, columns)], chosen_class=chosen)


def _by_heads(answer: Classes) -> list[FloatArray]:
    return [np.asarray(scores) for scores in (answer.by_cls, answer.by_dist) if scores is not None]


def _classes(scene: Scene) -> Opened:
    content = scene.part.content
    assert isinstance(content, Classes)
    logits, probabilities = content.logits, content.probabilities
    names = scene.model.classes
    scores = np.log(np.maximum(logits, 1e-30)) if logits is probabilities else logits
    step = softmax_row(
        "Softmax of the scores",
        "p = exp(s − s_max) / Σ exp(s − s_max)",
        logits,
        scores,
        probabilities,
        np.arange(len(logits)),
        lambda i: names[i],
        "classes",
    )
    columns = {"score": logits, "probability": probabilities}
    return _opened(scene, 0, [step], [table("Classes", "classes.csv", columns, names)], chosen_class=_winner(scene))


_OPENS: dict[str, Callable[[Scene], Opened]] = {
    "embed": _embed,
    "prefix": _prefix,
    "positions": _positions,
    "block": _block,
    "merge": _merge,
    "stem": _stem,
    "stage": _stage,
    "norm": _norm,
    "pool": _pool,
    "head": _head,
    "classes": _classes,
}

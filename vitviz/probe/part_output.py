"""The end of the way opened: the last LayerNorm, the mean over all places, the head's products, the softmax."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.journey import Classes, Heads, Maps, Normed, Pooled
from vitviz.analysis.opened_part import (
    Opened,
    Operation,
    bars,
    maps,
    name_of,
    normed,
    softmax_row,
    table,
    vector,
)
from vitviz.probe.part_inputs import Scene, last_tokens, opened_of
from vitviz.text import signed

FloatArray = NDArray[np.float32]


def open_norm(scene: Scene) -> Opened:
    """The last LayerNorm of the token that is read, or of the pinned one where all are."""
    content = scene.part.content
    assert isinstance(content, Normed)
    before, after = last_tokens(scene.model, scene.values)
    read = content.token if content.token >= 0 else scene.token
    formula = "LN(z) = γ (z − μ) / √(σ² + ε) + β"
    head = scene.way.part("head")
    two = head is not None and isinstance(head.content, Heads) and len(head.content.names) > 1
    tokens = [0, 1] if two else [read]
    operations = [
        normed(f"LayerNorm of {name_of(scene.tokens, t)}", formula, before[t], after[t], scene.part.shape_out)
        for t in tokens
    ]
    columns = {"before": before[read], "after": after[read]}
    return opened_of(scene, read, operations, [table("LayerNorm", "last_norm.csv", columns)])


def _winner(scene: Scene) -> int:
    part = scene.way.part("classes")
    if part is None or not isinstance(part.content, Classes):
        return 0
    probabilities = part.content.probabilities
    return scene.asked.within(len(probabilities), scene.asked.chosen_class, int(probabilities.argmax()))


def open_pool(scene: Scene) -> Opened:
    """One channel at every place, and what is made of it."""
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
        f"Channel {channel + 1} at every place",
        f"{said} over all places",
        numbers,
        one[None],
        [f"channel {channel + 1}"],
        True,
    )
    pooled = vector("All channels", said, content.vector, scene.part.shape_out)
    tables = [
        table(f"Channel {channel + 1} at every place", "places.csv", {"value": one.reshape(-1)}),
        table("What the head reads", "pooled.csv", {"value": content.vector}),
    ]
    return opened_of(scene, scene.token, [shown, pooled], tables, channel=channel)


def _places(scene: Scene) -> FloatArray:
    """What is pooled, (channels, h, w)."""
    before = scene.way.parts[scene.way.parts.index(scene.part) - 1].content
    if isinstance(before, Maps):
        return np.asarray(before.levels[-1].maps)
    _, after = last_tokens(scene.model, scene.values)
    last = next(p.tokens for p in reversed(scene.way.parts) if p.tokens is not None)
    patches = after[len(last.prefix) :]
    return np.asarray(patches.T.reshape(-1, *last.grid))


def open_head(scene: Scene) -> Opened:
    """The products that make one class's score."""
    content, answer = scene.part.content, scene.way.part("classes")
    assert isinstance(content, Heads) and answer is not None and isinstance(answer.content, Classes)
    chosen = _winner(scene)
    name = scene.model.classes[chosen]
    operations: list[Operation] = []
    columns: dict[str, FloatArray] = {}
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
    return opened_of(
        scene, 0, operations, [table(f"The score of {name}", file, columns)], chosen_class=chosen
    )


def _by_heads(answer: Classes) -> list[FloatArray]:
    return [np.asarray(scores) for scores in (answer.by_cls, answer.by_dist) if scores is not None]


def open_classes(scene: Scene) -> Opened:
    """The softmax of the scores."""
    content = scene.part.content
    assert isinstance(content, Classes)
    logits, probabilities = content.logits, content.probabilities
    names = scene.model.classes
    scores = np.log(np.maximum(logits, 1e-30)) if logits is probabilities else logits
    step = softmax_row(
        title="Softmax of the scores",
        formula="p = exp(s − s_max) / Σ exp(s − s_max)",
        dots=logits,
        scores=scores,
        weights=probabilities,
        keys=np.arange(len(logits)),
        name=lambda i: names[i],
        of="classes",
    )
    columns = {"score": logits, "probability": probabilities}
    return opened_of(
        scene, 0, [step], [table("Classes", "classes.csv", columns, names)], chosen_class=_winner(scene)
    )

"""Open the output parts: final LayerNorm, pooling, classifier head and class probabilities."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.forward_pass import ClassifierHeads, ClassScores, FeatureMaps, NormedTokens, PooledVector
from vitviz.analysis.opened_part import (
    OpenedPart,
    Operation,
    build_bars,
    build_layernorm,
    build_maps,
    build_softmax_row,
    build_table,
    build_vectors,
    name_token,
    select_index,
)
from vitviz.probe.part_inputs import PartContext, build_opened_part, capture_last_tokens
from vitviz.text import signed

FloatArray = NDArray[np.float32]


def open_norm(context: PartContext) -> OpenedPart:
    """Open the final LayerNorm for the token that the head reads, or the pinned one if it reads all."""
    content = context.part.content
    assert isinstance(content, NormedTokens)
    before, after = capture_last_tokens(context.model, context.values)
    token = content.token if content.token >= 0 else context.token
    formula = "LN(z) = γ (z − μ) / √(σ² + ε) + β"
    head = context.journey.part("head")
    two_heads = head is not None and isinstance(head.content, ClassifierHeads) and len(head.content.names) > 1
    tokens = [0, 1] if two_heads else [token]
    operations = [
        build_layernorm(
            f"LayerNorm of {name_token(context.tokens, t)}",
            formula,
            before[t],
            after[t],
            context.part.shape_out,
        )
        for t in tokens
    ]
    columns = {"before": before[token], "after": after[token]}
    return build_opened_part(context, token, operations, [build_table("LayerNorm", "last_norm.csv", columns)])


def _select_class(context: PartContext) -> int:
    part = context.journey.part("classes")
    if part is None or not isinstance(part.content, ClassScores):
        return 0
    probabilities = part.content.probabilities
    return select_index(context.request.chosen_class, len(probabilities), int(probabilities.argmax()))


def open_pool(context: PartContext) -> OpenedPart:
    """Open the pooling: one channel at every position, and the pooled vector."""
    content = context.part.content
    assert isinstance(content, PooledVector)
    values = _read_pooled_maps(context)
    head = context.journey.part("head")
    shares = np.abs(content.vector)
    if head is not None and isinstance(head.content, ClassifierHeads):
        shares = np.abs(content.vector * head.content.weights[0, _select_class(context)])
    channel = select_index(context.request.channel, len(content.vector), int(shares.argmax()))
    channel_map = values[channel % len(values)]
    statistic = {"mean": "mean", "max": "maximum", "first patch": "first"}.get(content.how, content.how)
    numbers = f"{statistic} of {channel_map.size} values: {signed(float(content.vector[channel]), 3)}"
    shown = build_maps(
        f"Channel {channel + 1} at every position",
        f"{statistic} over all positions",
        numbers,
        channel_map[None],
        [f"channel {channel + 1}"],
        True,
    )
    pooled = build_vectors("All channels", statistic, content.vector, context.part.shape_out)
    tables = [
        build_table(
            f"Channel {channel + 1} at every position", "places.csv", {"value": channel_map.reshape(-1)}
        ),
        build_table("Pooled vector", "pooled.csv", {"value": content.vector}),
    ]
    return build_opened_part(context, context.token, [shown, pooled], tables, channel=channel)


def _read_pooled_maps(context: PartContext) -> FloatArray:
    before = context.journey.parts[context.journey.parts.index(context.part) - 1].content
    if isinstance(before, FeatureMaps):
        return np.asarray(before.levels[-1].maps)
    _, after = capture_last_tokens(context.model, context.values)
    last = next(p.tokens for p in reversed(context.journey.parts) if p.tokens is not None)
    patches = after[len(last.prefix) :]
    return np.asarray(patches.T.reshape(-1, *last.grid))


def open_head(context: PartContext) -> OpenedPart:
    """Open the classifier head: the products that sum to one class's logit."""
    content, output = context.part.content, context.journey.part("classes")
    assert (
        isinstance(content, ClassifierHeads)
        and output is not None
        and isinstance(output.content, ClassScores)
    )
    chosen = _select_class(context)
    name = context.model.classes[chosen]
    operations: list[Operation] = []
    columns: dict[str, FloatArray] = {}
    for i, token_name in enumerate(content.names):
        y, w, b = content.vectors[i], content.weights[i, chosen], float(content.biases[i, chosen])
        title = f"Logit of {name}" + (f" from [{token_name.upper()}]" if len(content.names) > 1 else "")
        operations.append(build_bars(title, "w · y + b", y * w, lambda c: f"channel {c + 1}", b))
        label = f" [{token_name.upper()}]" if len(content.names) > 1 else ""
        columns |= {f"y{label}": y, f"w{label}": w, f"w y{label}": y * w}
    if len(content.names) > 1:
        by_head = output.content
        scores = [operations[i].facts["result"] for i in (0, 1)]
        both = Operation(
            "vector",
            "Mean of both heads",
            "(first + second) / 2",
            f"({signed(scores[0], 3)} + {signed(scores[1], 3)}) / 2 = {signed(sum(scores) / 2, 3)}",
            np.stack(
                [np.asarray(s) for s in (by_head.by_cls, by_head.by_dist, by_head.logits) if s is not None]
            ),
            ("[CLS]", "[DIST]", "mean"),
            shape=context.part.shape_out,
        )
        operations.append(both)
    file = f"score_of_class_{chosen}.csv"
    return build_opened_part(
        context, 0, operations, [build_table(f"Logit of {name}", file, columns)], chosen_class=chosen
    )


def open_classes(context: PartContext) -> OpenedPart:
    content = context.part.content
    assert isinstance(content, ClassScores)
    logits, probabilities = content.logits, content.probabilities
    names = context.model.classes
    if getattr(context.model.config, "class_output", "softmax") == "sigmoid":
        step = _build_sigmoids(logits, probabilities, names)
    else:
        step = _build_softmax(logits, probabilities, names)
    columns = {"logit": logits, "probability": probabilities}
    return build_opened_part(
        context,
        0,
        [step],
        [build_table("Classes", "classes.csv", columns, names)],
        chosen_class=_select_class(context),
    )


def _build_sigmoids(logits: FloatArray, probabilities: FloatArray, names: Sequence[str]) -> Operation:
    """Build the logits of independent classes, with the sigmoid of the most probable one in numbers."""
    best = int(probabilities.argmax())
    step = build_bars("Sigmoid of each logit", "p = 1 / (1 + exp(−s))", logits, lambda i: names[i])
    logit = signed(float(logits[best]))
    return replace(step, numbers=f"{names[best]}: s = {logit}, p = {probabilities[best]:.3f}")


def _build_softmax(logits: FloatArray, probabilities: FloatArray, names: Sequence[str]) -> Operation:
    scores = np.log(np.maximum(logits, 1e-30)) if logits is probabilities else logits
    return build_softmax_row(
        title="Softmax of the logits",
        formula="p = exp(s − s_max) / Σ exp(s − s_max)",
        dots=logits,
        scores=scores,
        weights=probabilities,
        keys=np.arange(len(logits)),
        name=lambda i: names[i],
        noun="classes",
    )

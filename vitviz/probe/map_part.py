"""Open one part of the map: compute its operations with inputs and outputs for one token."""

from collections.abc import Callable

import numpy as np

from vitviz.analysis.forward_pass import (
    AddedPositions,
    EmbeddedPatches,
    Grid,
    Journey,
    PrefixTokens,
)
from vitviz.analysis.opened_part import (
    OpenedPart,
    Operation,
    PartRequest,
    build_bars,
    build_layernorm,
    build_product,
    build_sum,
    build_table,
    build_vectors,
    select_index,
)
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.capture import FloatArray
from vitviz.probe.part_block import open_block, open_merging
from vitviz.probe.part_convolutions import open_level, open_stem
from vitviz.probe.part_inputs import PartContext, PatchEmbedding, build_opened_part, compute_embedding
from vitviz.probe.part_output import open_classes, open_head, open_norm, open_pool
from vitviz.text import signed

CHANNELS = 3  # shown output channels of E


def open_part(
    model: LoadedModel, values: FloatArray, journey: Journey, request: PartRequest
) -> OpenedPart | None:
    """Compute a part's operations and tables for a token; None if the model lacks the part or it cannot be opened.

    Args:
        values: (C, S, S), preprocessed.
        journey: the image's recorded forward pass.
        request: from `PartRequest.parse`; an invalid head, class or channel falls back to the part's default.
    """
    part = journey.part(request.part)
    if part is None or part.content is None:
        return None
    opener = _OPENERS.get(part.id.partition(".")[0])
    return None if opener is None else opener(PartContext(model, values, journey, part, request))


def _open_embedding(context: PartContext) -> OpenedPart:
    content = context.part.content
    assert isinstance(content, EmbeddedPatches)
    patch = compute_embedding(context.model, context.values, context.cell)
    token = patch.linear
    order = np.argsort(-np.abs(token), kind="stable")
    chosen = select_index(context.request.channel, len(token), int(order[0]))
    shown = [chosen, *(int(i) for i in order if i != chosen)][:CHANNELS]
    bias, shape = patch.bias, context.part.shape_out
    square = patch.x.shape[1] > 1 or patch.x.shape[0] <= 3
    operations = [_build_pixels(patch.x)] if square else []
    operations += [_build_column_product(patch, channel, square) for channel in shown]
    operations.append(build_vectors("Token before its position embedding", "x E + b", token, shape))
    if patch.normed is not None:
        operations.append(build_layernorm("LayerNorm", "LN(x E + b)", token, patch.normed, shape))
    flat = patch.x.reshape(-1)
    columns = {"x": flat} | {f"column {c + 1}": patch.weight[c].reshape(-1) for c in shown}
    columns |= {f"x · column {c + 1}": flat * patch.weight[c].reshape(-1) for c in shown}
    tables = [
        build_table("Patch times columns of E", "patch_times_E.csv", columns),
        build_table("Token", "token.csv", {"sum": token - bias, "bias": bias, "token": token}),
    ]
    return build_opened_part(
        context, len(context.tokens.prefix) + context.cell, operations, tables, channel=chosen
    )


def _build_pixels(x: FloatArray) -> Operation:
    low, high = float(x.min()), float(x.max())
    numbers = f"{x.size} values between {signed(low)} and {signed(high)}"
    facts = {"lo": low, "hi": high}
    return Operation(
        "pixels", "Pixel values of the patch", "x ∈ ℝ^(P²C)", numbers, x, shape=x.shape, facts=facts
    )


def _build_column_product(patch: PatchEmbedding, channel: int, square: bool) -> Operation:
    """Build one channel of the token: an image for a patch of pixels, bars for many feature maps."""
    title, bias = f"Dot product with column {channel + 1} of E", float(patch.bias[channel])
    if square:
        return build_product(title, patch.x, patch.weight[channel], bias, channel)
    shares = (patch.x * patch.weight[channel]).reshape(-1)
    return build_bars(title, "x · e + b", shares, lambda i: f"feature map {i + 1}", bias)


def _open_prefix(context: PartContext) -> OpenedPart:
    content = context.part.content
    assert isinstance(content, PrefixTokens)
    names = [f"[{name.upper()}]" for name in context.tokens.prefix]
    title = "Learned tokens" if len(names) > 1 else "Learned token"
    norms = ", ".join(
        f"{name}: norm {np.linalg.norm(row):.2f}" for name, row in zip(names, content.vectors, strict=True)
    )
    step = build_vectors(
        title, "[x_class; x₁E; …; x_N E]", content.vectors, context.part.shape_out, names, norms
    )
    columns = dict(zip(names, content.vectors, strict=True))
    return build_opened_part(context, 0, [step], [build_table(title, "prefix_tokens.csv", columns)])


def _open_positions(context: PartContext) -> OpenedPart:
    content = context.part.content
    assert isinstance(content, AddedPositions)
    prefix = len(context.tokens.prefix)
    token = context.token if content.on_prefix else prefix + context.cell
    row = token if content.on_prefix else token - prefix
    before = _read_unplaced_token(context.journey, token)
    position = content.table[row]
    name = "second map" if content.of_pixels else "position"
    step = build_sum(
        "Token plus a second linear map of its pixels"
        if content.of_pixels
        else "Token plus position embedding",
        "z₀ = x E + e_pos",
        before,
        position,
        ("token", name, "z₀"),
        context.part.shape_out,
    )
    patches = content.table[prefix:] if content.on_prefix else content.table
    norms = np.linalg.norm(patches, axis=1) * np.linalg.norm(position)
    cosines = np.divide(patches @ position, norms, out=np.zeros(len(patches)), where=norms > 0)
    similarity = _build_similarity(cosines, context.tokens.grid, row - prefix if content.on_prefix else row)
    columns = {"token": before, name: position, "sum": before + position}
    tables = [
        build_table("Token and position", "token_and_position.csv", columns),
        build_table("Cosine similarity with every position", "cosines.csv", {"cosine": cosines}),
    ]
    return build_opened_part(context, token, [step, similarity], tables)


def _build_similarity(cosines: FloatArray, grid: Grid, cell: int) -> Operation:
    """Build the map of cosine similarities (N,) between one position (cell, -1: a prefix token) and all others."""
    others = np.delete(cosines, cell) if cell >= 0 else cosines
    numbers = (
        f"with the other positions {signed(float(others.min()))} to {signed(float(others.max()))}"
        if others.size
        else "only one position: no other to compare with"
    )
    return Operation(
        "maps",
        "Cosine similarity with the other positions",
        "cos(e_pos, e_pos′)",
        numbers,
        cosines.reshape(1, *grid),
        shape=grid,
        facts={"names": ["cosine"], "lo": -1.0, "hi": 1.0},
    )


def _read_unplaced_token(journey: Journey, token: int) -> FloatArray:
    """Return a token of the sequence before its position embedding is added."""
    prefix, embedded = journey.part("prefix"), journey.part("embed")
    first = 0
    if prefix is not None and isinstance(prefix.content, PrefixTokens):
        first = len(prefix.content.vectors)
        if token < first:
            return np.asarray(prefix.content.vectors[token])
    assert embedded is not None and isinstance(embedded.content, EmbeddedPatches)
    return np.asarray(embedded.content.vectors[token - first])


_OPENERS: dict[str, Callable[[PartContext], OpenedPart]] = {
    "embed": _open_embedding,
    "prefix": _open_prefix,
    "positions": _open_positions,
    "block": open_block,
    "merge": open_merging,
    "stem": open_stem,
    "stage": open_level,
    "norm": open_norm,
    "pool": open_pool,
    "head": open_head,
    "classes": open_classes,
}

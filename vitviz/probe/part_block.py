"""A block opened for one token: its heads, one softmax row, what is added to the stream; and Swin's merging."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from torch import nn

from vitviz.analysis.attention import map_of_token, rows_of_windows, scaled
from vitviz.analysis.journey import Attended, Merged, Part
from vitviz.analysis.logit_lens import layer_norm
from vitviz.analysis.opened_part import (
    Opened,
    Operation,
    Table,
    bars,
    length,
    name_of,
    normed,
    softmax_row,
    summed,
    table,
    vector,
)
from vitviz.models.abilities import abilities, as_swin
from vitviz.models.layer_order import stage_of
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.block_record import block_form, block_record, patterns_of
from vitviz.probe.capture import as_array, capture
from vitviz.probe.swin_parts import merging_norm
from vitviz.text import percent

FloatArray = NDArray[np.float32]
SWIN_PARTS = ("input", "attn_out", "mid", "mlp_out", "window_index", "q", "k", "v", "scores", "attn")


@dataclass(frozen=True, eq=False)
class TokenInBlock:
    """What one token meets in one block; n tokens, m keys that the token may look at.

    rows: (heads, n), its row of A in every head. keys: (m,) tokens; query (d,), key and value (m, d) of the chosen
    head, scores and weights (m,) there. stream: token, what attention adds, between, what the MLP adds, token after;
    norms: what each LayerNorm gives; hidden: the MLP's units. scale: of q·k; biased: whether a bias is added, and
    masked: a mask (Swin).
    """

    rows: FloatArray
    keys: NDArray[np.integer]
    query: FloatArray
    key: FloatArray
    value: FloatArray
    scores: FloatArray
    weights: FloatArray
    stream: tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]
    norms: tuple[FloatArray, FloatArray]
    hidden: FloatArray
    scale: float
    biased: bool
    masked: bool
    pre_norm: bool

    def added(self, bias: str) -> str:
        """What is added to a score, with the bias's letter: '', ' + B', or ' + B + mask'."""
        return f" + {bias}{' + mask' * self.masked}" if self.biased else ""


def open_block(model: LoadedModel, values: FloatArray, part: Part, token: int, head: int | None) -> Opened:
    """A block's operations for one token.

    Args:
        head: from 0; None, or one that is not there, takes the head whose row has the largest weight.
    """
    content, tokens = part.content, part.tokens
    assert isinstance(content, Attended) and tokens is not None
    windowed = bool(abilities(model.config).windows)
    find = _in_swin if windowed else _in_vit
    found, chosen = find(model, values, content, token, head)
    name = partial(name_of, tokens)
    operations = [*_attention(found, chosen, content, part, name), *_branches(found, part)]
    return Opened(
        part.id, token, name(token), tuple(operations), _tables(found, chosen, part.id, name), head=chosen
    )


def _chosen(rows: FloatArray, head: int | None) -> int:
    return head if head is not None and head < len(rows) else int(rows.max(axis=1).argmax())


def _in_vit(
    model: LoadedModel, values: FloatArray, content: Attended, token: int, head: int | None
) -> tuple[TokenInBlock, int]:
    vit, layer = model.vit, content.layer
    record = block_record(vit, capture(vit, values[None], patterns_of(layer)), layer)
    form = block_form(vit, layer)
    rows = record["attn"][:, token]
    chosen = _chosen(rows, head)
    names = ("input", "attn_added", "mid", "mlp_added", "output")
    entering, attention, between, mlp, leaving = (record[name][token] for name in names)
    return TokenInBlock(
        rows=rows,
        keys=np.arange(rows.shape[1]),
        query=record["q"][chosen, token],
        key=record["k"][chosen],
        value=record["v"][chosen],
        scores=record["scores"][chosen, token],
        weights=rows[chosen],
        stream=(entering, attention, between, mlp, leaving),
        norms=(record["norm1"][token], record["norm2"][token]),
        hidden=record["mlp_hidden"][token],
        scale=form.scale,
        biased=False,
        masked=False,
        pre_norm=form.pre_norm,
    ), chosen


def _in_swin(
    model: LoadedModel, values: FloatArray, content: Attended, token: int, head: int | None
) -> tuple[TokenInBlock, int]:
    config, at = as_swin(model.config), stage_of(as_swin(model.config), content.layer)
    name = f"layers.{at.stage}.blocks.{at.block}"
    parts = (*SWIN_PARTS, "mlp_hidden")
    found = capture(model.swin, values[None], (name, *(f"{name}.{part}" for part in parts), f"{name}.mask"))
    index = found[f"{name}.window_index"]
    places = rows_of_windows(found[f"{name}.attn"][0], index)
    rows = map_of_token(places, token)
    chosen = _chosen(rows, head)
    window, slot = int(places.window_of[token]), int(places.slot_of[token])
    inside = index[window] >= 0
    q, k, v, scores, attn = (
        found[f"{name}.{part}"][0][window, chosen] for part in ("q", "k", "v", "scores", "attn")
    )
    stream = [f"{name}.{part}" for part in ("input", "attn_out", "mid", "mlp_out")]
    vectors = (_row(found[part][0], token) for part in (*stream, name, f"{name}.mlp_hidden"))
    entering, attention, between, mlp, leaving, hidden = vectors
    block = model.swin.block(at.stage, at.block)
    return TokenInBlock(
        rows=rows,
        keys=index[window][inside],
        query=q[slot],
        key=k[inside],
        value=v[inside],
        scores=scores[slot, inside],
        weights=attn[slot, inside],
        stream=(entering, attention, between, mlp, leaving),
        norms=(_normed_by(block.norm1, entering), _normed_by(block.norm2, between)),
        hidden=hidden,
        scale=float(config.embed_dim * 2**at.stage // config.num_heads[at.stage]) ** -0.5,
        biased=True,
        masked=f"{name}.mask" in found.arrays,
        pre_norm=True,
    ), chosen


def _row(map_of_vectors: FloatArray, token: int) -> FloatArray:
    """The token's vector (d,) of (rows, cols, d)."""
    row: FloatArray = map_of_vectors.reshape(-1, map_of_vectors.shape[-1])[token]
    return row


def _normed_by(norm: nn.LayerNorm, vector: FloatArray) -> FloatArray:
    return layer_norm(vector, as_array(norm.weight), as_array(norm.bias), norm.eps)


def _attention(
    found: TokenInBlock, head: int, content: Attended, part: Part, name: Callable[[int], str]
) -> list[Operation]:
    """From the token that enters to what attention adds to it."""
    entering, attention, _, _, _ = found.stream
    shape, heads = part.shape_out, len(found.rows)
    operations = []
    if found.pre_norm:
        operations.append(normed("LayerNorm", "y = LN(z)", entering, found.norms[0], shape))
    row = softmax_row(
        title=f"One softmax row, head {head + 1}",
        formula=f"s = q·k × {found.scale:.3f}{found.added('b')},  a = exp(s − s_max) / Σ exp(s − s_max)",
        dots=found.key @ found.query,
        scores=found.scores,
        weights=found.weights,
        keys=found.keys,
        name=name,
        of="keys",
    )
    mixed = found.weights @ found.value
    value = vector(
        f"The values, weighed and summed, head {head + 1}", "o = Σ a v", mixed, (heads, shape[0], len(mixed))
    )
    label = "z′" if found.pre_norm else "sum"
    formula = "z′ = z + MSA(LN(z))" if found.pre_norm else "z + MSA(z)"
    added = summed("Added to the stream", formula, entering, attention, ("z", "attention", label), shape)
    operations += [_look(found, head, shape[0], name), row, value, added]
    if not found.pre_norm:
        operations.append(
            normed("LayerNorm", "z′ = LN(z + MSA(z))", entering + attention, found.stream[2], shape)
        )
    return operations


def _look(found: TokenInBlock, head: int, tokens: int, name: Callable[[int], str]) -> Operation:
    """The token's row of every head."""
    best = [int(i) for i in found.rows.argmax(axis=1)]
    heads = len(found.rows)
    return Operation(
        "heads",
        "Where every head looks",
        f"A = softmax({scaled('q kᵀ', found.scale)}{found.added('B')}){' inside the window' * found.biased}",
        f"head {head + 1} looks most at {name(best[head])}, weight {found.rows[head].max():.2f}",
        found.rows,
        tuple(f"head {h + 1}" for h in range(heads)),
        shape=(heads, tokens, len(found.keys) if found.biased else tokens),
        facts={"selected": head, "strongest": best},
    )


def _branches(found: TokenInBlock, part: Part) -> list[Operation]:
    """The MLP, and what it adds."""
    _, _, between, mlp, leaving = found.stream
    shape, hidden = part.shape_out, found.hidden
    operations = []
    if found.pre_norm:
        operations.append(normed("LayerNorm", "y = LN(z′)", between, found.norms[1], shape))
    units = bars(
        "The MLP's hidden units",
        "h = activation(W₁ y + b₁)",
        hidden,
        lambda i: f"unit {i + 1}",
        say=f"{percent(float((hidden > 0).mean()), 0)} of {len(hidden)} units are positive.",
    )
    formula = "z = z′ + MLP(LN(z′))" if found.pre_norm else "z′ + MLP(z′)"
    label = "z" if found.pre_norm else "sum"
    operations += [
        units,
        summed("Added to the stream", formula, between, mlp, ("z′", "MLP", label), shape),
    ]
    if not found.pre_norm:
        operations.append(normed("LayerNorm", "z = LN(z′ + MLP(z′))", between + mlp, leaving, shape))
    return operations


def _tables(found: TokenInBlock, head: int, part: str, name: Callable[[int], str]) -> tuple[Table, ...]:
    file = part.replace(".", "_")
    keys = {"q·k": found.key @ found.query, "score": found.scores, "weight": found.weights}
    entering, attention, between, mlp, leaving = found.stream
    stream = {"z in": entering, "attention": attention, "between": between, "MLP": mlp, "z out": leaving}
    return (
        table(f"Keys, head {head + 1}", f"{file}_keys.csv", keys, [name(int(key)) for key in found.keys]),
        table("The stream, channel by channel", f"{file}_stream.csv", stream),
        table("The MLP's hidden units", f"{file}_hidden.csv", {"h": found.hidden}),
    )


def open_merging(model: LoadedModel, values: FloatArray, part: Part, cell: int) -> Opened:
    """Swin's merging for one token: its four neighbours side by side, LayerNorm, and one matrix."""
    content, tokens = part.content, part.tokens
    assert isinstance(content, Merged) and tokens is not None
    stage = content.stage - 1
    name = f"layers.{stage - 1}"
    grid = capture(model.swin, values[None], (name,))[name][0]
    row, col = divmod(cell, tokens.grid[1])
    padded = np.pad(grid, ((0, grid.shape[0] % 2), (0, grid.shape[1] % 2), (0, 0)))
    places = [
        (2 * row + r, 2 * col + c) for c in (0, 1) for r in (0, 1)
    ]  # the order of the model's own columns
    quad = np.stack([padded[place] for place in places])
    inside = [r < grid.shape[0] and c < grid.shape[1] for r, c in places]
    cells = [r * grid.shape[1] + c if here else -1 for (r, c), here in zip(places, inside, strict=True)]
    gain, shift, eps = merging_norm(model.swin, stage)
    flat = quad.reshape(-1)
    after = layer_norm(flat, gain, shift, eps)
    merged = content.vectors[cell]
    operations = (
        Operation(
            "quad",
            "Four neighbours",
            "[z₁; z₂; z₃; z₄]",
            ", ".join(f"{length(z):.2f}" for z in quad) + " long",
            quad,
            ("above left", "below left", "above right", "below right"),
            shape=(tokens.count, flat.size),
            facts={"cells": cells},
        ),
        normed("LayerNorm", f"LN of {flat.size} channels", flat, after, (tokens.count, flat.size)),
        vector(f"One matrix makes {len(merged)} of them", "W LN([z₁; z₂; z₃; z₄])", merged, part.shape_out),
    )
    columns = {"side by side": flat, "after LayerNorm": after}
    tables = (
        table("Four neighbours, channel by channel", f"merge_{content.stage}.csv", columns),
        table("The merged token", f"merged_{content.stage}.csv", {"value": merged}),
    )
    return Opened(part.id, cell, name_of(tokens, cell), operations, tables)

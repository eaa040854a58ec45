"""Open a block for one token: its heads, one softmax row and both residual updates; and Swin's patch merging."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from torch import nn

from vitviz.analysis.attention import map_of_token, rows_of_windows, scaled
from vitviz.analysis.forward_pass import BlockPass, MergedTokens, Part
from vitviz.analysis.logits import layer_norm
from vitviz.analysis.opened_part import (
    OpenedPart,
    Operation,
    Table,
    build_bars,
    build_layernorm,
    build_softmax_row,
    build_sum,
    build_table,
    build_vectors,
    compute_norm,
    name_token,
)
from vitviz.analysis.window_attention import merge_at
from vitviz.models.abilities import abilities, as_swin
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.token_layout import stage_of
from vitviz.probe.capture import FloatArray, as_array, capture
from vitviz.probe.layers import block_form, block_record, patterns_of
from vitviz.probe.part_inputs import PartContext, build_opened_part
from vitviz.probe.swin import merging_norm
from vitviz.text import percent

SWIN_PARTS = ("input", "attn_out", "mid", "mlp_out", "window_index", "q", "k", "v", "scores", "attn")


@dataclass(frozen=True, eq=False)
class TokenInBlock:
    """Activations of one token in one block with n tokens, of which m are its keys.

    rows: (heads, n), its attention row in every head. keys: (m,) token indices; query (d,), key and value (m, d),
    scores and weights (m,) of the chosen head. stream: input, attention output, stream between, MLP output, output.
    norms: outputs of both LayerNorms. hidden: the MLP's hidden units. scale: factor of q·k. biased, masked: True if
    Swin adds a position bias or a mask.
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

    def format_bias(self, bias: str) -> str:
        """Return the terms added to a score: '', ' + B', or ' + B + mask'."""
        return f" + {bias}{' + mask' * self.masked}" if self.biased else ""


def open_block(context: PartContext) -> OpenedPart:
    """Compute a block's operations for one token in the requested head, by default the one with the largest weight."""
    model, part, token = context.model, context.part, context.token
    assert isinstance(part.content, BlockPass)
    read_block = _read_swin_block if abilities(model.config).windows else _read_vit_block
    block, chosen = read_block(model, context.values, part.content, token, context.request.head)
    name = partial(name_token, context.tokens)
    operations = [*_build_attention(block, chosen, part, name), *_build_mlp(block, part)]
    return build_opened_part(
        context, token, operations, _build_tables(block, chosen, part.id, name), head=chosen
    )


def _select_head(rows: FloatArray, head: int | None) -> int:
    return head if head is not None and head < len(rows) else int(rows.max(axis=1).argmax())


def _read_vit_block(
    model: LoadedModel, values: FloatArray, content: BlockPass, token: int, head: int | None
) -> tuple[TokenInBlock, int]:
    vit, layer = model.vit, content.layer
    record = block_record(vit, capture(vit, values[None], patterns_of(layer)), layer)
    form = block_form(vit, layer)
    rows = record["attn"][:, token]
    chosen = _select_head(rows, head)
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


def _read_swin_block(
    model: LoadedModel, values: FloatArray, content: BlockPass, token: int, head: int | None
) -> tuple[TokenInBlock, int]:
    config, place = as_swin(model.config), stage_of(as_swin(model.config), content.layer)
    name = f"layers.{place.stage}.blocks.{place.block}"
    parts = (*SWIN_PARTS, "mlp_hidden")
    records = capture(model.swin, values[None], (name, *(f"{name}.{part}" for part in parts), f"{name}.mask"))
    index = records[f"{name}.window_index"]
    window_rows = rows_of_windows(records[f"{name}.attn"][0], index)
    rows = map_of_token(window_rows, token)
    chosen = _select_head(rows, head)
    window, slot = int(window_rows.window_of[token]), int(window_rows.slot_of[token])
    inside = index[window] >= 0
    q, k, v, scores, attn = (
        records[f"{name}.{part}"][0][window, chosen] for part in ("q", "k", "v", "scores", "attn")
    )
    stream = [f"{name}.{part}" for part in ("input", "attn_out", "mid", "mlp_out")]
    maps = (records[part][0] for part in (*stream, name, f"{name}.mlp_hidden"))
    entering, attention, between, mlp, leaving, hidden = (m.reshape(-1, m.shape[-1])[token] for m in maps)
    block = model.swin.block(place.stage, place.block)
    return TokenInBlock(
        rows=rows,
        keys=index[window][inside],
        query=q[slot],
        key=k[inside],
        value=v[inside],
        scores=scores[slot, inside],
        weights=attn[slot, inside],
        stream=(entering, attention, between, mlp, leaving),
        norms=(_apply_norm(block.norm1, entering), _apply_norm(block.norm2, between)),
        hidden=hidden,
        scale=float(config.embed_dim * 2**place.stage // config.num_heads[place.stage]) ** -0.5,
        biased=True,
        masked=f"{name}.mask" in records.arrays,
        pre_norm=True,
    ), chosen


def _apply_norm(norm: nn.LayerNorm, vector: FloatArray) -> FloatArray:
    return layer_norm(vector, as_array(norm.weight), as_array(norm.bias), norm.eps)


def _build_attention(
    block: TokenInBlock, head: int, part: Part, name: Callable[[int], str]
) -> list[Operation]:
    entering, attention, _, _, _ = block.stream
    shape, heads = part.shape_out, len(block.rows)
    operations = []
    if block.pre_norm:
        operations.append(build_layernorm("LayerNorm", "y = LN(z)", entering, block.norms[0], shape))
    row = build_softmax_row(
        title=f"Softmax row of head {head + 1}",
        formula=f"s = q·k × {block.scale:.3f}{block.format_bias('b')},  a = exp(s − s_max) / Σ exp(s − s_max)",
        dots=block.key @ block.query,
        scores=block.scores,
        weights=block.weights,
        keys=block.keys,
        name=name,
        noun="keys",
    )
    mixed = block.weights @ block.value
    weighted_sum = build_vectors(
        f"Weighted sum of the values, head {head + 1}", "o = Σ a v", mixed, (heads, shape[0], len(mixed))
    )
    label = "z′" if block.pre_norm else "sum"
    formula = "z′ = z + MSA(LN(z))" if block.pre_norm else "z + MSA(z)"
    added = build_sum("Residual addition", formula, entering, attention, ("z", "attention", label), shape)
    operations += [_build_head_maps(block, head, shape[0], name), row, weighted_sum, added]
    if not block.pre_norm:
        operations.append(
            build_layernorm("LayerNorm", "z′ = LN(z + MSA(z))", entering + attention, block.stream[2], shape)
        )
    return operations


def _build_head_maps(block: TokenInBlock, head: int, tokens: int, name: Callable[[int], str]) -> Operation:
    best = [int(i) for i in block.rows.argmax(axis=1)]
    heads = len(block.rows)
    return Operation(
        "heads",
        "Attention of every head",
        f"A = softmax({scaled('q kᵀ', block.scale)}{block.format_bias('B')}){' in the window' * block.biased}",
        f"head {head + 1} attends most to {name(best[head])}, weight {block.rows[head].max():.2f}",
        block.rows,
        tuple(f"head {h + 1}" for h in range(heads)),
        shape=(heads, tokens, len(block.keys) if block.biased else tokens),
        facts={"selected": head, "strongest": best},
    )


def _build_mlp(block: TokenInBlock, part: Part) -> list[Operation]:
    _, _, between, mlp, leaving = block.stream
    shape, hidden = part.shape_out, block.hidden
    operations = []
    if block.pre_norm:
        operations.append(build_layernorm("LayerNorm", "y = LN(z′)", between, block.norms[1], shape))
    units = build_bars(
        "Hidden units of the MLP",
        "h = activation(W₁ y + b₁)",
        hidden,
        lambda i: f"unit {i + 1}",
        say=f"{percent(float((hidden > 0).mean()), 0)} of {len(hidden)} hidden units are positive.",
    )
    formula = "z = z′ + MLP(LN(z′))" if block.pre_norm else "z′ + MLP(z′)"
    label = "z" if block.pre_norm else "sum"
    operations += [
        units,
        build_sum("Residual addition", formula, between, mlp, ("z′", "MLP", label), shape),
    ]
    if not block.pre_norm:
        operations.append(build_layernorm("LayerNorm", "z = LN(z′ + MLP(z′))", between + mlp, leaving, shape))
    return operations


def _build_tables(block: TokenInBlock, head: int, part: str, name: Callable[[int], str]) -> list[Table]:
    kind, _, number = part.rpartition(".")
    file = f"{kind}_{int(number) - 1}_from_0"
    keys = {"q·k": block.key @ block.query, "score": block.scores, "weight": block.weights}
    entering, attention, between, mlp, leaving = block.stream
    stream = {"z in": entering, "attention": attention, "between": between, "MLP": mlp, "z out": leaving}
    return [
        build_table(
            f"Keys, head {head + 1}", f"{file}_keys.csv", keys, [name(int(key)) for key in block.keys]
        ),
        build_table("Residual stream by channel", f"{file}_stream.csv", stream),
        build_table("Hidden units of the MLP", f"{file}_hidden.csv", {"h": block.hidden}),
    ]


def open_merging(context: PartContext) -> OpenedPart:
    """Compute Swin's patch merging for one token: four concatenated neighbours, LayerNorm and one matrix."""
    model, part, tokens, cell = context.model, context.part, context.tokens, context.cell
    content = part.content
    assert isinstance(content, MergedTokens)
    stage = content.stage - 1
    name = f"layers.{stage - 1}"
    grid = capture(model.swin, context.values[None], (name,))[name][0]
    after_merging = content.vectors.reshape(*tokens.grid, -1)
    place = divmod(cell, tokens.grid[1])
    merge = merge_at(grid, after_merging, stage, place, merging_norm(model.swin, stage))
    rows, cols = grid.shape[:2]
    cells = [r * cols + c if r < rows and c < cols else -1 for r, c in merge.four_at]
    quad, flat, after, merged = merge.four, merge.four.reshape(-1), merge.normed, merge.merged
    operations = [
        Operation(
            "quad",
            "Four neighbouring tokens",
            "[z₁; z₂; z₃; z₄]",
            "norms " + ", ".join(f"{compute_norm(z):.2f}" for z in quad),
            quad,
            ("top left", "bottom left", "top right", "bottom right"),
            shape=(tokens.count, flat.size),
            facts={"cells": cells},
        ),
        build_layernorm("LayerNorm", f"LN over {flat.size} channels", flat, after, (tokens.count, flat.size)),
        build_vectors(
            f"Linear map to {len(merged)} channels", "W LN([z₁; z₂; z₃; z₄])", merged, part.shape_out
        ),
    ]
    columns = {"concatenated": flat, "after LayerNorm": after}
    tables = [
        build_table("Four neighbouring tokens by channel", f"merge_{content.stage}.csv", columns),
        build_table("Merged token", f"merged_{content.stage}.csv", {"value": merged}),
    ]
    return build_opened_part(context, cell, operations, tables)

"""A picture's whole way through a model, for the map: one pass, every part's own numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vitviz.analysis.attention import rows_of_windows
from vitviz.analysis.journey import (
    Attended,
    Classes,
    Cut,
    Embedded,
    Heads,
    Journey,
    Level,
    Maps,
    Merged,
    Normed,
    Part,
    Pooled,
    Positions,
    Prefix,
    Tokens,
    answer_rows,
    received,
    strongest_keys,
)
from vitviz.analysis.logit_lens import lens_of_readout
from vitviz.models.abilities import abilities, as_swin, as_vit
from vitviz.models.cnn import ConvNet
from vitviz.models.hybrid import ConvStem
from vitviz.models.layer_order import layout_of_layer, stage_of
from vitviz.models.layers import PatchEmbed
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.vit import VisionTransformer
from vitviz.probe.block_record import gains
from vitviz.probe.capture import Capture, as_array, capture
from vitviz.probe.embedding import prefix_tokens
from vitviz.probe.logit_lens import readout_weights, stream, stream_names

FloatArray = NDArray[np.float32]
BLOCK_PARTS = ("attn", "attn_out", "mid", "mlp_out")


def journey(model: LoadedModel, values: FloatArray) -> Journey:
    """What a picture becomes in every part of a model.

    Args:
        model: any family.
        values: (C, S, S), prepared as the model's `Preparation` says.
    """
    able = abilities(model.config)
    if able.blocks and able.attention:
        return _of_vit(model, values)
    if able.windows:
        return _of_swin(model, values)
    return _of_cnn(model, values) if able.receptive_field else _of_any(model, values)


def names_of(model: LoadedModel) -> tuple[str, ...]:
    """What a pass must record for the map of a model with blocks."""
    if able_windows(model):
        depths = as_swin(model.config).depths
        names = [f"layers.{s}.blocks.{b}" for s, depth in enumerate(depths) for b in range(depth)]
        parts = ("input", "window_index", *BLOCK_PARTS)
        return ("patch_embed", "norm", *names, *(f"{name}.{part}" for name in names for part in parts))
    depth = as_vit(model.config).depth
    inside = (f"blocks.{layer}.{part}" for layer in range(depth) for part in BLOCK_PARTS)
    return ("patch_embed", "pos_embed", "norm", "logits_*", *stream_names(depth), *inside)


def able_windows(model: LoadedModel) -> bool:
    """Whether its heads look inside windows."""
    return bool(abilities(model.config).windows)


# ---------------------------------------------------------------- a ViT, a DeiT, a hybrid


def _of_vit(model: LoadedModel, values: FloatArray) -> Journey:
    vit, config = model.vit, model.vit.config
    found = capture(vit, values[None], names_of(model))
    layout = model.layout(*values.shape[-2:])
    tokens = Tokens(layout.prefix, layout.grid, layout.patch_px)
    patches = Tokens((), layout.grid, layout.patch_px)
    n, total, dim = layout.num_patches, layout.num_tokens, config.embed_dim
    parts = [_picture(values), *_into_tokens(vit, values, found["patch_embed"][0], patches)]
    if layout.prefix:
        rows = np.stack(list(prefix_tokens(vit).values()))
        parts.append(Part("prefix", (n, dim), (total, dim), "tokens × D", tokens, Prefix(rows)))
    if "pos_embed" in found.arrays:
        table = found["pos_embed"][0]
        kind = config.positions
        added = Positions(table, len(table) == total, kind == "learned", kind == "pixels")
        parts.append(Part("positions", (total, dim), (total, dim), "tokens × D", tokens, added))
    for layer in range(config.depth):
        content = _vit_block(vit, found, layer)
        parts.append(Part(f"block.{layer + 1}", (total, dim), (total, dim), "tokens × D", tokens, content))
    parts += _vit_answer(model, found, tokens)
    dims = {"P": layout.patch_px, "C": config.in_chans, "N": n, "T": total, "D": dim}
    return Journey(
        tuple(parts), config.readout, tokens, {**dims, "heads": config.num_heads, "depth": config.depth}
    )


def _picture(values: FloatArray) -> Part:
    return Part("picture", values.shape, values.shape, "C × H × W", None, None)


def _into_tokens(vit: VisionTransformer, values: FloatArray, made: FloatArray, patches: Tokens) -> list[Part]:
    """The parts from the picture to N tokens of D values: cut and multiplied, or read by a stem."""
    shape = (patches.count, made.shape[1])
    stem = vit.patch_embed
    if isinstance(stem, ConvStem):
        levels = stem_levels(stem, values)
        last = levels[-1].maps.shape
        return [
            Part("stem", values.shape, last, "channels × rows × columns", None, Maps(levels)),
            Part("embed", last, shape, "N × D", patches, Embedded(made, None)),
        ]
    assert isinstance(stem, PatchEmbed)
    flat = values.shape[0] * patches.cell_px**2
    return [
        Part("patches", values.shape, (patches.count, flat), "N × P²C", patches, Cut(flat)),
        Part(
            "embed",
            (patches.count, flat),
            shape,
            "N × D",
            patches,
            Embedded(made, as_array(stem.proj.weight)),
        ),
    ]


def stem_levels(stem: ConvStem, values: FloatArray) -> tuple[Level, ...]:
    """The maps after each of a hybrid's convolutions."""
    with torch.inference_mode():
        maps = stem.maps(torch.tensor(values)[None])
    return tuple(Level(f"Convolution {i + 1}", as_array(level[0])) for i, level in enumerate(maps))


def _vit_block(vit: VisionTransformer, found: Capture, layer: int) -> Attended:
    config, name = vit.config, f"blocks.{layer}"
    attn = found[f"{name}.attn"][0]
    attn_gain, mlp_gain = gains(vit, layer + 1)
    entering = found["embedded" if layer == 0 else f"blocks.{layer - 1}"][0]
    row_of, rows = answer_rows(attn, config.prefix_tokens, config.readout)
    second = answer_rows(attn, config.prefix_tokens, "cls", "dist")[1] if config.distilled else None
    return Attended(
        layer=layer + 1,
        stage=0,
        heads=config.num_heads,
        row_of=row_of,
        rows=rows,
        second=second,
        strongest=strongest_keys(attn),
        entering=entering,
        added=np.stack([found[f"{name}.attn_out"][0] * attn_gain, found[f"{name}.mlp_out"][0] * mlp_gain]),
        stream=np.stack([found[f"{name}.mid"][0], found[name][0]]),
    )


def _vit_answer(model: LoadedModel, found: Capture, tokens: Tokens) -> list[Part]:
    vit, config = model.vit, model.vit.config
    total, dim = tokens.count, config.embed_dim
    before, after = found[f"blocks.{config.depth - 1}"][0], found["norm"][0]
    read = {"cls": 0, "first_patch": len(tokens.prefix)}.get(config.readout, -1)
    parts: list[Part] = []
    if config.final_norm:
        content = Normed(*_norms(before, after), read)
        parts.append(Part("norm", (total, dim), (total, dim), "tokens × D", tokens, content))
    if config.readout == "cls":
        names: tuple[str, ...] = tuple(
            name for name in ("cls", "dist") if name in tokens.prefix and (name == "cls" or config.distilled)
        )
        vectors = np.stack([after[tokens.prefix.index(name)] for name in names])
    else:
        how = {"mean": "mean", "first_patch": "first patch"}[config.readout]
        pooled = after[len(tokens.prefix) :]
        vector = pooled.mean(axis=0) if how == "mean" else pooled[0]
        parts.append(Part("pool", (total, dim), (dim,), "D", None, Pooled(vector, how)))
        names, vectors = (how,), vector[None]
    if not config.num_classes:
        return parts
    by = {name: found[f"logits_{name}"][0] if config.distilled else None for name in ("cls", "dist")}
    lens = lens_of_readout(stream(found, config.depth), readout_weights(vit), config.readout, tokens.prefix)
    classes = Classes(*_answer(model, found), by["cls"], by["dist"], lens)
    heads = [head for head in (vit.head, vit.head_dist) if isinstance(head, nn.Linear)]
    return [*parts, *_head(names, vectors, classes, heads)]


def _norms(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lengths of the tokens on both sides of a LayerNorm."""
    return np.linalg.norm(before, axis=-1), np.linalg.norm(after, axis=-1)


def _head(
    names: tuple[str, ...], vectors: FloatArray, classes: Classes, heads: Sequence[nn.Linear]
) -> list[Part]:
    """The linear map to the classes, a DeiT's two, and what comes of it."""
    count = len(classes.logits)
    width = (vectors.shape[1],) if len(vectors) == 1 else vectors.shape
    weights, biases = (
        np.stack([as_array(getattr(head, name)) for head in heads]) for name in ("weight", "bias")
    )
    return [
        Part("head", width, (count,), "classes", None, Heads(names, vectors, weights, biases)),
        Part("classes", (count,), (count,), "classes", None, classes),
    ]


def _answer(model: LoadedModel, found: Capture) -> tuple[NDArray[Any], NDArray[Any]]:
    logits = found.logits[0]
    return logits, model.probabilities(logits)


# ---------------------------------------------------------------- a Swin


def _of_swin(model: LoadedModel, values: FloatArray) -> Journey:
    swin, config = model.swin, model.swin.config
    found = capture(swin, values[None], names_of(model))
    layout = model.layout(*values.shape[-2:])
    first = Tokens((), layout.grid, layout.patch_px)
    flat = config.in_chans * config.patch_size**2
    n, dim = first.count, config.embed_dim
    made = found["patch_embed"][0].reshape(n, dim)
    filters = as_array(swin.patch_embed.proj.weight)
    parts = [
        _picture(values),
        Part("patches", values.shape, (n, flat), "N × P²C", first, Cut(flat)),
        Part("embed", (n, flat), (n, dim), "N × C", first, Embedded(made, filters)),
    ]
    for layer in range(1, sum(config.depths) + 1):
        parts += _swin_block(model, found, layer)
    last = layout_of_layer(config, layout, sum(config.depths))
    tokens = Tokens((), last.grid, last.patch_px)
    before, after = parts[-1], found["norm"][0]
    width = after.shape[-1]
    stage, block = len(config.depths) - 1, config.depths[-1] - 1
    entering = found[f"layers.{stage}.blocks.{block}"][0].reshape(-1, width)
    flat_after = after.reshape(-1, width)
    shape = (tokens.count, width)
    normed = Normed(*_norms(entering, flat_after), -1)
    parts.append(Part("norm", before.shape_out, shape, "tokens × C", tokens, normed))
    vector = flat_after.mean(axis=0)
    parts.append(Part("pool", shape, (width,), "C", None, Pooled(vector, "mean")))
    if config.num_classes:
        classes = Classes(*_answer(model, found), why_no_lens=abilities(config).logit_lens.why_not)
        head = swin.head.fc
        assert isinstance(head, nn.Linear)
        parts += _head(("mean",), vector[None], classes, [head])
    dims = {"P": config.patch_size, "C": config.in_chans, "N": n, "T": n, "D": dim}
    return Journey(
        tuple(parts), "mean", first, {**dims, "heads": config.num_heads[0], "depth": sum(config.depths)}
    )


def _swin_block(model: LoadedModel, found: Capture, layer: int) -> list[Part]:
    """A block of a Swin, and before a stage's first one the merging."""
    config = as_swin(model.config)
    at = stage_of(config, layer)
    name = f"layers.{at.stage}.blocks.{at.block}"
    entering = found[f"{name}.input"][0]
    rows, cols, width = entering.shape
    tokens = Tokens((), (rows, cols), config.patch_size * 2**at.stage)
    shape = (rows * cols, width)
    flat = entering.reshape(shape)
    parts = []
    if at.stage and not at.block:
        before = found[f"layers.{at.stage - 1}.blocks.{config.depths[at.stage - 1] - 1}"][0].shape
        into, merged = (before[0] * before[1], before[2]), Merged(flat, at.stage + 1)
        parts.append(Part(f"merge.{at.stage + 1}", into, shape, "tokens × 2C", tokens, merged))
    index, attn = found[f"{name}.window_index"], found[f"{name}.attn"][0]
    of_windows = rows_of_windows(attn, index)
    plan = model.swin.block(at.stage, at.block).plan((rows, cols))
    content = Attended(
        layer=layer,
        stage=at.stage + 1,
        heads=config.num_heads[at.stage],
        row_of="received",
        rows=received(attn, index),
        second=None,
        strongest=strongest_keys(of_windows.rows, of_windows.slots[of_windows.window_of]),
        entering=flat,
        added=np.stack([found[f"{name}.{part}"][0].reshape(shape) for part in ("attn_out", "mlp_out")]),
        stream=np.stack([found[part][0].reshape(shape) for part in (f"{name}.mid", name)]),
        window=of_windows.window_of,
        window_grid=plan.window,
        shifted=any(plan.shift),
    )
    return [*parts, Part(f"block.{layer}", shape, shape, "tokens × C", tokens, content)]


# ---------------------------------------------------------------- a CNN, and what has no parts of its own


def _of_cnn(model: LoadedModel, values: FloatArray) -> Journey:
    net = model.model
    assert isinstance(net, ConvNet)
    found = capture(net, values[None], True)
    stem = found["stem"][0]
    parts = [
        _picture(values),
        Part(
            "stem",
            values.shape,
            stem.shape,
            _MAPS,
            _places(stem, values),
            Maps((Level("Convolution", stem),)),
        ),
    ]
    for stage, count in enumerate(net.config.blocks):
        if not count:
            continue
        levels = tuple(
            Level(f"Block {block + 1}", found[f"layers.{stage}.blocks.{block}"][0]) for block in range(count)
        )
        last = levels[-1].maps
        before = parts[-1].shape_out
        parts.append(
            Part(f"stage.{stage + 1}", before, last.shape, _MAPS, _places(last, values), Maps(levels))
        )
    features = found["features"][0]
    how = "max" if net.config.pooled else "mean"
    parts.append(Part("pool", parts[-1].shape_out, features.shape, "channels", None, Pooled(features, how)))
    why = abilities(model.config).logit_lens.why_not
    parts += _head((how,), features[None], Classes(*_answer(model, found), why_no_lens=why), [net.head])
    dims = {"P": None, "C": net.config.in_chans, "N": None, "T": None, "D": len(features)}
    sequence = _places(levels_of(parts)[-1].maps, values)
    return Journey(tuple(parts), how, sequence, {**dims, "heads": None, "depth": sum(net.config.blocks)})


_MAPS = "channels × rows × columns"


def levels_of(parts: list[Part]) -> list[Level]:
    """Every level of maps, in order."""
    return [level for part in parts if isinstance(part.content, Maps) for level in part.content.levels]


def _places(maps: FloatArray, values: FloatArray) -> Tokens:
    """The places of a feature map as cells of the picture."""
    rows, cols = maps.shape[-2:]
    return Tokens((), (rows, cols), max(1, round(values.shape[-2] / rows)))


def _of_any(model: LoadedModel, values: FloatArray) -> Journey:
    """A model whose parts have no pictures here: what goes in, and the answer."""
    found = capture(model.model, values[None], ("logits",))
    able = abilities(model.config)
    why = able.embedding.why_not or able.blocks.why_not
    classes = Classes(*_answer(model, found), why_no_lens=able.logit_lens.why_not or why)
    count = len(classes.logits)
    parts = (_picture(values), Part("classes", values.shape, (count,), "classes", None, classes))
    side = values.shape[-1]
    names: tuple[str, ...] = ("P", "N", "T", "D", "heads", "depth")
    dims: dict[str, int | None] = {name: None for name in names} | {"C": len(values)}
    return Journey(parts, "mean", Tokens((), (1, 1), side), dims, why)

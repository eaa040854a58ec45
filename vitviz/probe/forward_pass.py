"""Record one forward pass for the map: the activations of every part of the model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vitviz.analysis.attention import rows_of_windows
from vitviz.analysis.forward_pass import (
    AddedPositions,
    BlockPass,
    ClassifierHeads,
    ClassScores,
    CutPatches,
    EmbeddedPatches,
    FeatureMaps,
    Journey,
    MapLevel,
    MergedTokens,
    NormedTokens,
    Part,
    PooledVector,
    PrefixTokens,
    Tokens,
    average_received_weights,
    select_readout_row,
    select_strongest_keys,
)
from vitviz.analysis.logits import lens_of_readout
from vitviz.models.abilities import abilities, as_swin, as_vit
from vitviz.models.cnn import ConvNet
from vitviz.models.layers import ConvStem, PatchEmbed
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.token_layout import layout_of_layer, stage_of
from vitviz.models.vit import VisionTransformer
from vitviz.probe.capture import Capture, FloatArray, as_array, capture
from vitviz.probe.embedding import prefix_tokens
from vitviz.probe.layers import gains, list_layers
from vitviz.probe.logits import readout_weights, stream, stream_names

BLOCK_PARTS = ("attn", "attn_out", "mid", "mlp_out")


def record_journey(model: LoadedModel, values: FloatArray) -> Journey:
    """Record the activations of every part of a model for one image.

    Args:
        values: (C, S, S), preprocessed by the model's `Preparation`.
    """
    able = abilities(model.config)
    if able.blocks and able.attention:
        return _trace_vit(model, values)
    if able.windows:
        return _trace_swin(model, values)
    return _trace_cnn(model, values) if able.receptive_field else _trace_other(model, values)


def list_records(model: LoadedModel) -> tuple[str, ...]:
    """Return the records that the map of a model with blocks needs."""
    if abilities(model.config).windows:
        names = [layer.record for layer in list_layers(model.config)[1:]]
        parts = ("input", "window_index", *BLOCK_PARTS)
        return ("patch_embed", "norm", *names, *(f"{name}.{part}" for name in names for part in parts))
    depth = as_vit(model.config).depth
    inside = (f"blocks.{layer}.{part}" for layer in range(depth) for part in BLOCK_PARTS)
    return (
        "patch_embed",
        "patch_embed.stem.*",
        "pos_embed",
        "norm",
        *stream_names(depth),
        *inside,
    )


# ---------------------------------------------------------------- a ViT, a DeiT, a hybrid


def _trace_vit(model: LoadedModel, values: FloatArray) -> Journey:
    vit, config = model.vit, model.vit.config
    records = capture(vit, values[None], list_records(model))
    layout = model.layout(*values.shape[-2:])
    tokens = Tokens(layout.prefix, layout.grid, layout.patch_px)
    patches = Tokens((), layout.grid, layout.patch_px)
    n, total, dim = layout.num_patches, layout.num_tokens, config.embed_dim
    parts = [
        _build_image_part(values),
        *_build_embedding_parts(vit, values, records, patches),
    ]
    if layout.prefix:
        rows = np.stack(list(prefix_tokens(vit).values()))
        parts.append(Part("prefix", (n, dim), (total, dim), tokens, PrefixTokens(rows)))
    if "pos_embed" in records.arrays:
        table = records["pos_embed"][0]
        kind = config.positions
        added = AddedPositions(table, len(table) == total, kind == "learned", kind == "pixels")
        parts.append(Part("positions", (total, dim), (total, dim), tokens, added))
    for layer in range(config.depth):
        content = _read_vit_block(vit, records, layer)
        parts.append(Part(f"block.{layer + 1}", (total, dim), (total, dim), tokens, content))
    parts += _build_vit_readout(model, records, tokens)
    return Journey(tuple(parts), config.readout, tokens, config.num_heads, config.depth)


def _build_image_part(values: FloatArray) -> Part:
    return Part("picture", values.shape, values.shape, None, None)


def _build_embedding_parts(
    vit: VisionTransformer, values: FloatArray, records: Capture, patches: Tokens
) -> list[Part]:
    """Build the parts from the image to N tokens of D values: patches and E, or a convolutional stem."""
    embedded = records["patch_embed"][0]
    shape = (patches.count, embedded.shape[1])
    stem = vit.patch_embed
    if isinstance(stem, ConvStem):
        maps = (records[f"patch_embed.stem.{i}"][0] for i in range(len(vit.config.stem)))
        levels = tuple(MapLevel(f"Convolution {i + 1}", level) for i, level in enumerate(maps))
        last = levels[-1].maps.shape
        return [
            Part("stem", values.shape, last, None, FeatureMaps(levels)),
            Part("embed", last, shape, patches, EmbeddedPatches(embedded, None)),
        ]
    assert isinstance(stem, PatchEmbed)
    flat = values.shape[0] * patches.cell_px**2
    return [
        Part("patches", values.shape, (patches.count, flat), patches, CutPatches(flat)),
        Part(
            "embed",
            (patches.count, flat),
            shape,
            patches,
            EmbeddedPatches(embedded, as_array(stem.proj.weight)),
        ),
    ]


def _read_vit_block(vit: VisionTransformer, records: Capture, layer: int) -> BlockPass:
    config, name = vit.config, f"blocks.{layer}"
    attn = records[f"{name}.attn"][0]
    attn_gain, mlp_gain = gains(vit.block(layer))
    entering = records["embedded" if layer == 0 else f"blocks.{layer - 1}"][0]
    row_of, row = select_readout_row(attn, config.prefix_tokens, config.readout)
    return BlockPass(
        layer=layer + 1,
        stage=0,
        row_of=row_of,
        row=row,
        strongest=select_strongest_keys(attn),
        entering=entering,
        added=np.stack(
            [records[f"{name}.attn_out"][0] * attn_gain, records[f"{name}.mlp_out"][0] * mlp_gain]
        ),
        stream=np.stack([records[f"{name}.mid"][0], records[name][0]]),
    )


def _build_vit_readout(model: LoadedModel, records: Capture, tokens: Tokens) -> list[Part]:
    vit, config = model.vit, model.vit.config
    total, dim = tokens.count, config.embed_dim
    before, after = records[f"blocks.{config.depth - 1}"][0], records["norm"][0]
    read = {"cls": 0, "first_patch": len(tokens.prefix)}.get(config.readout, -1)
    parts: list[Part] = []
    if config.final_norm:
        content = NormedTokens(*_compute_norm_pair(before, after), read)
        parts.append(Part("norm", (total, dim), (total, dim), tokens, content))
    if config.readout == "cls":
        names: tuple[str, ...] = tuple(
            name for name in ("cls", "dist") if name in tokens.prefix and (name == "cls" or config.two_heads)
        )
        vectors = np.stack([after[tokens.prefix.index(name)] for name in names])
    else:
        how = _POOLINGS[config.readout]
        pooled = after[len(tokens.prefix) :]
        vector = pooled[0] if how == "first patch" else pooled.mean(axis=0)
        if vit.attn_pool is not None:
            vector = as_array(vit.pool_tokens(torch.tensor(after)[None])[0])
        if config.readout == "cls_mean":
            vector = np.concatenate([after[tokens.prefix.index("cls")], vector])
        parts.append(Part("pool", (total, dim), vector.shape, None, PooledVector(vector, how)))
        names, vectors = (how,), as_array(vit.fc_norm(torch.tensor(vector)))[None]
    if not config.num_classes:
        return parts
    lens = None
    if abilities(config).logit_lens:
        weights = readout_weights(vit)
        lens = lens_of_readout(stream(records, config.depth), weights, config.readout, tokens.prefix)
    classes = ClassScores(*_read_scores(model, records), lens)
    heads = [head for head in (vit.head, vit.head_dist) if isinstance(head, nn.Linear)]
    return [*parts, *_build_head_parts(names, vectors, classes, heads)]


def _compute_norm_pair(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.linalg.norm(before, axis=-1), np.linalg.norm(after, axis=-1)


def _build_head_parts(
    names: tuple[str, ...], vectors: FloatArray, classes: ClassScores, heads: Sequence[nn.Linear]
) -> list[Part]:
    """Build the parts of the classifier head (two for a DeiT) and the class scores."""
    count = len(classes.logits)
    width = (vectors.shape[1],) if len(vectors) == 1 else vectors.shape
    weights = np.stack([as_array(head.weight) for head in heads])
    return [
        Part("head", width, (count,), None, ClassifierHeads(names, vectors, weights)),
        Part("classes", (count,), (count,), None, classes),
    ]


def _read_scores(model: LoadedModel, records: Capture) -> tuple[NDArray[Any], NDArray[Any]]:
    logits = records.logits[0]
    return logits, model.probabilities(logits)


# ---------------------------------------------------------------- a Swin


def _trace_swin(model: LoadedModel, values: FloatArray) -> Journey:
    swin, config = model.swin, model.swin.config
    records = capture(swin, values[None], list_records(model))
    layout = model.layout(*values.shape[-2:])
    first = Tokens((), layout.grid, layout.patch_px)
    flat = config.in_chans * config.patch_size**2
    n, dim = first.count, config.embed_dim
    embedded = records["patch_embed"][0].reshape(n, dim)
    filters = as_array(swin.patch_embed.proj.weight)
    parts = [
        _build_image_part(values),
        Part("patches", values.shape, (n, flat), first, CutPatches(flat)),
        Part("embed", (n, flat), (n, dim), first, EmbeddedPatches(embedded, filters)),
    ]
    for layer in range(1, sum(config.depths) + 1):
        parts += _build_swin_block(model, records, layer)
    last = layout_of_layer(config, layout, sum(config.depths))
    tokens = Tokens((), last.grid, last.patch_px)
    before, after = parts[-1], records["norm"][0]
    width = after.shape[-1]
    stage, block = len(config.depths) - 1, config.depths[-1] - 1
    entering = records[f"layers.{stage}.blocks.{block}"][0].reshape(-1, width)
    flat_after = after.reshape(-1, width)
    shape = (tokens.count, width)
    normed = NormedTokens(*_compute_norm_pair(entering, flat_after), -1)
    parts.append(Part("norm", before.shape_out, shape, tokens, normed))
    vector = flat_after.mean(axis=0)
    parts.append(Part("pool", shape, (width,), None, PooledVector(vector, "mean")))
    if config.num_classes:
        classes = ClassScores(*_read_scores(model, records))
        head = swin.head.fc
        assert isinstance(head, nn.Linear)
        parts += _build_head_parts(("mean",), vector[None], classes, [head])
    return Journey(tuple(parts), "mean", first, config.num_heads[0], sum(config.depths))


def _build_swin_block(model: LoadedModel, records: Capture, layer: int) -> list[Part]:
    """Build a block of a Swin, preceded by patch merging if it is the first of its stage."""
    config = as_swin(model.config)
    place = stage_of(config, layer)
    name = f"layers.{place.stage}.blocks.{place.block}"
    entering = records[f"{name}.input"][0]
    rows, cols, width = entering.shape
    tokens = Tokens((), (rows, cols), config.patch_size * 2**place.stage)
    shape = (rows * cols, width)
    flat = entering.reshape(shape)
    parts = []
    if place.stage and not place.block:
        before = records[f"layers.{place.stage - 1}.blocks.{config.depths[place.stage - 1] - 1}"][0].shape
        into, merged = (before[0] * before[1], before[2]), MergedTokens(flat, place.stage + 1)
        parts.append(Part(f"merge.{place.stage + 1}", into, shape, tokens, merged))
    index, attn = records[f"{name}.window_index"], records[f"{name}.attn"][0]
    window_rows = rows_of_windows(attn, index)
    plan = model.swin.block(place.stage, place.block).plan((rows, cols))
    content = BlockPass(
        layer=layer,
        stage=place.stage + 1,
        row_of="received",
        row=average_received_weights(attn, index),
        strongest=select_strongest_keys(window_rows.rows, window_rows.slots[window_rows.window_of]),
        entering=flat,
        added=np.stack([records[f"{name}.{part}"][0].reshape(shape) for part in ("attn_out", "mlp_out")]),
        stream=np.stack([records[part][0].reshape(shape) for part in (f"{name}.mid", name)]),
        window=plan.window,
        shifted=any(plan.shift),
    )
    return [*parts, Part(f"block.{layer}", shape, shape, tokens, content)]


# ---------------------------------------------------------------- a CNN, and models without parts


def _trace_cnn(model: LoadedModel, values: FloatArray) -> Journey:
    net = model.model
    assert isinstance(net, ConvNet)
    records = capture(net, values[None], True)
    stem = (MapLevel("Convolution", records["stem"][0]),)
    parts = [_build_image_part(values), _build_maps_part("stem", values.shape, stem, values)]
    for stage, count in enumerate(net.config.blocks):
        names = [f"layers.{stage}.blocks.{block}" for block in range(count)]
        levels = tuple(MapLevel(f"Block {i + 1}", records[name][0]) for i, name in enumerate(names))
        if levels:
            parts.append(_build_maps_part(f"stage.{stage + 1}", parts[-1].shape_out, levels, values))
    sequence = parts[-1].tokens
    assert sequence is not None
    features = records["features"][0]
    how = "max" if net.config.pooled else "mean"
    parts.append(Part("pool", parts[-1].shape_out, features.shape, None, PooledVector(features, how)))
    parts += _build_head_parts((how,), features[None], ClassScores(*_read_scores(model, records)), [net.head])
    return Journey(tuple(parts), how, sequence, depth=sum(net.config.blocks))


_POOLINGS = {
    "mean": "mean",
    "first_patch": "first patch",
    "cls_mean": "[CLS] and mean",
    "map": "attention pooling",
}


def _build_maps_part(
    name: str, shape_in: tuple[int, ...], levels: tuple[MapLevel, ...], values: FloatArray
) -> Part:
    """Build a part of feature maps whose positions are cells of the image."""
    shape = levels[-1].maps.shape
    grid = Tokens((), shape[-2:], max(1, round(values.shape[-2] / shape[-2])))
    return Part(name, shape_in, shape, grid, FeatureMaps(levels))


def _trace_other(model: LoadedModel, values: FloatArray) -> Journey:
    """Record a model whose parts cannot be shown: only its image and its class scores."""
    records = capture(model.model, values[None], ("logits",))
    able = abilities(model.config)
    why = able.embedding.why_not or able.blocks.why_not
    classes = ClassScores(*_read_scores(model, records))
    count = len(classes.logits)
    parts = (_build_image_part(values), Part("classes", values.shape, (count,), None, classes))
    return Journey(parts, "mean", Tokens((), (1, 1), values.shape[-1]), why_bare=why)

"""Collect from a model what the logit lens and direct logit attribution read: norms, heads and the stream."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from vitviz.analysis.logits import (
    Attribution,
    FixedNorm,
    Gather,
    Heads,
    Linear,
    MlpVectors,
    PathStep,
    ReadoutWeights,
    attribute_logit,
    read_features,
)
from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.abilities import abilities
from vitviz.models.layers import Block
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.swin import SwinTransformer
from vitviz.models.vit import VisionTransformer
from vitviz.probe.capture import Capture, as_array
from vitviz.probe.layers import gains

FloatArray = NDArray[np.floating[Any]]


def list_records(config: ViTConfig | SwinConfig) -> tuple[str, ...]:
    """Return the names that a capture must record."""
    if isinstance(config, SwinConfig):
        stages = tuple(f"layers.{stage}" for stage in range(len(config.depths)))
        return (
            "patch_embed",
            *stages,
            *(f"layers.*.{part}" for part in ("attn", "v", "window_index", "mlp_out")),
        )
    parts = ("heads", "mlp_out") if config.norm == "pre" else ("heads", "mlp_out", "input", "attn_out", "mid")
    return ("embedded", "norm", f"blocks.{config.depth - 1}", *(f"blocks.*.{part}" for part in parts))


def attribute(model: LoadedModel, records: Capture, target: int) -> Attribution:
    """Return the shares of a class logit for the first image of a capture of `list_records`.

    Raises:
        ValueError: if the logit of this model is no sum of shares.
    """
    able = abilities(model.config).logit_shares
    if not able:
        raise ValueError(able.why_not)
    if isinstance(model.model, SwinTransformer):
        return _attribute_swin(model.model, records, target)
    return _attribute_vit(model.vit, records, target)


def _attribute_vit(model: VisionTransformer, records: Capture, target: int) -> Attribution:
    steps: list[PathStep] = []
    for index in range(model.config.depth):
        steps += _read_block(model.block(index), records, f"blocks.{index}")
    if isinstance(model.norm, nn.LayerNorm):
        steps.append(_fix(model.norm, records[f"blocks.{model.config.depth - 1}"][0]))
    covector, bias = _read_head(model, records["norm"][0], target)
    return attribute_logit(covector, steps, records["embedded"][0], bias)


def _read_block(block: Block, records: Capture, name: str) -> list[PathStep]:
    """Return a ViT block's steps; post-norm has a LayerNorm after each sum."""
    first, second = gains(block)
    outputs = records[f"{name}.heads"][0]
    tokens, inner = outputs.shape
    by_head = outputs.reshape(tokens, block.attn.num_heads, -1).transpose(1, 0, 2)
    projection, bias = np.eye(inner), np.zeros(inner)
    if isinstance(block.attn.proj, nn.Linear):
        projection, bias = as_array(block.attn.proj.weight), as_array(block.attn.proj.bias)
    heads = Heads(by_head, projection * np.reshape(first, (-1, 1)), bias * first)
    mlp = MlpVectors(records[f"{name}.mlp_out"][0] * second)
    if block.norm_place == "pre":
        return [heads, mlp]
    attended = records[f"{name}.input"][0] + records[f"{name}.attn_out"][0] * first
    return [heads, _fix(block.norm1, attended), mlp, _fix(block.norm2, records[f"{name}.mid"][0] + mlp.added)]


def _fix(norm: nn.Module, inputs: FloatArray) -> FixedNorm:
    assert isinstance(norm, nn.LayerNorm)  # `logit_shares` of models with other norms is missing
    return FixedNorm(as_array(norm.weight), as_array(norm.bias), norm.eps, inputs)


def _read_head(model: VisionTransformer, normed: FloatArray, target: int) -> tuple[FloatArray, float]:
    """Return the covector of the normed tokens (tokens, D) and the bias of a class."""
    readout, config = readout_weights(model), model.config
    prefix, (tokens, width) = len(config.prefix_tokens), normed.shape
    read, bias = readout.weight[target].astype(np.float64), float(readout.bias[target])
    if isinstance(model.fc_norm, nn.LayerNorm):
        unpooled = replace(readout, pooled_gain=None, pooled_shift=None)
        pooled = _fix(
            model.fc_norm, read_features(normed, unpooled, config.readout, config.prefix_tokens)[None]
        )
        bias += float(read @ pooled.shift)
        read = pooled.pull_back(read[None])[0]
    covector = np.zeros((tokens, width))
    if config.readout in ("mean", "cls_mean"):
        covector[prefix:] = read[-width:] / (tokens - prefix)
    if config.readout in ("cls", "cls_mean"):
        covector[0] = read[:width]
    if config.readout == "first_patch":
        covector[prefix] = read
    if readout.dist_weight is not None and readout.dist_bias is not None:
        covector[1] += readout.dist_weight[target]
        return covector / 2, (bias + float(readout.dist_bias[target])) / 2
    return covector, bias


def _attribute_swin(model: SwinTransformer, records: Capture, target: int) -> Attribution:
    steps: list[PathStep] = []
    for stage in range(len(model.config.depths)):
        if stage:
            steps += _read_merging(model, records[f"layers.{stage - 1}"][0], stage)
        for index in range(model.config.depths[stage]):
            steps += _read_swin_block(model, records, stage, index)
    last = _flatten(records[f"layers.{len(model.config.depths) - 1}"][0])
    head = model.head.fc
    assert isinstance(head, nn.Linear)  # a model without classes has no logit
    covector = np.tile(as_array(head.weight)[target] / len(last), (len(last), 1))
    embedded = _flatten(records["patch_embed"][0])
    return attribute_logit(covector, [*steps, _fix(model.norm, last)], embedded, float(head.bias[target]))


def _read_merging(model: SwinTransformer, grid: FloatArray, stage: int) -> list[PathStep]:
    """Return the steps of the patch merging of a stage's input (rows, cols, C)."""
    merging: Any = model.layers[stage].downsample
    rows, cols = grid.shape[:2]
    index = np.pad(
        np.arange(rows * cols).reshape(rows, cols), ((0, rows % 2), (0, cols % 2)), constant_values=-1
    )
    quads = np.stack([index[r::2, c::2].ravel() for c in (0, 1) for r in (0, 1)], axis=1)
    padded = np.concatenate([_flatten(grid), np.zeros((1, grid.shape[-1]), np.float32)])
    merged = padded[quads].reshape(len(quads), -1)  # -1 reads the zeros at the end
    return [
        Gather(quads, rows * cols),
        _fix(merging.norm, merged),
        Linear(as_array(merging.reduction.weight)),
    ]


def _read_swin_block(model: SwinTransformer, records: Capture, stage: int, index: int) -> list[PathStep]:
    """Return a Swin block's steps, the heads' outputs taken from the windows back to the grid."""
    name, block = f"layers.{stage}.blocks.{index}", model.block(stage, index)
    inside = records[f"{name}.attn"][0] @ records[f"{name}.v"][0]  # (windows, heads, slots, d)
    mlp = _flatten(records[f"{name}.mlp_out"][0])
    slots, patches = inside.transpose(1, 0, 2, 3), records[f"{name}.window_index"]
    outputs = np.zeros((slots.shape[0], len(mlp), slots.shape[-1]), np.float32)
    outputs[:, patches[patches >= 0]] = slots[:, patches >= 0]
    return [Heads(outputs, as_array(block.attn.proj.weight), as_array(block.attn.proj.bias)), MlpVectors(mlp)]


def _flatten(grid: FloatArray) -> FloatArray:
    """Return the tokens (rows * cols, C) of a grid (rows, cols, C)."""
    return grid.reshape(-1, grid.shape[-1])


def readout_weights(model: VisionTransformer) -> ReadoutWeights:
    """Return the last LayerNorm (None where a model ends without one) and the heads as arrays.

    Raises:
        ValueError: if the model has no head for classes.
    """
    norm, head, second, pooled = model.norm, model.head, model.head_dist, model.fc_norm
    if not isinstance(head, nn.Linear):
        raise ValueError(f"the model must have a head for classes, received {type(head).__name__}")
    gain, shift = (norm.weight, norm.bias) if isinstance(norm, nn.LayerNorm) else (None, None)
    return ReadoutWeights(
        gain=None if gain is None else as_array(gain),
        shift=None if shift is None else as_array(shift),
        eps=model.config.norm_eps,
        weight=as_array(head.weight),
        bias=as_array(head.bias),
        dist_weight=None if second is None else as_array(second.weight),
        dist_bias=None if second is None else as_array(second.bias),
        pooled_gain=as_array(pooled.weight) if isinstance(pooled, nn.LayerNorm) else None,
        pooled_shift=as_array(pooled.bias) if isinstance(pooled, nn.LayerNorm) else None,
    )


def stream_names(depth: int) -> tuple[str, ...]:
    """Return the names that a capture must record: the stream before the first block and after every block."""
    return ("embedded", *(f"blocks.{i}" for i in range(depth)))


def stream(records: Capture, depth: int) -> NDArray[Any]:
    """Return (depth + 1, tokens, D) of the first image of a capture that recorded `stream_names`."""
    return np.stack([records[name][0] for name in stream_names(depth)])

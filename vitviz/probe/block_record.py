"""One block of a ViT as its lens takes it apart: intermediates by short name, and what the block does."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from vitviz.analysis.block import BlockForm, with_added
from vitviz.models.layers import LayerScale
from vitviz.models.vit import VisionTransformer
from vitviz.probe.capture import Capture, as_array

Record = dict[str, NDArray[Any]]  # short name -> (tokens, …)
Gain = NDArray[Any] | float
PARTS = (
    *("input", "norm1", "q", "k", "v", "scores", "attn", "heads"),
    *("attn_out", "mid", "norm2", "mlp_hidden", "mlp_out"),
)


def patterns_of(layer: int) -> tuple[str, str]:
    """Return what a capture must record of a block, which counts from 1."""
    name = f"blocks.{layer - 1}"
    return f"{name}.*", name


def block_record(model: VisionTransformer, found: Capture, layer: int) -> Record:
    """Return a block's intermediates of the first image, by short name, with what each branch adds to the stream.

    Args:
        model: the ViT that was captured.
        found: recorded with `patterns_of(layer)`.
        layer: from 1.
    """
    name = f"blocks.{layer - 1}"
    record = {part: found[f"{name}.{part}"][0] for part in PARTS} | {"output": found[name][0]}
    return with_added(record, *gains(model, layer))


def gains(model: VisionTransformer, layer: int) -> tuple[Gain, Gain]:
    """Return what a block, from 1, multiplies its two branches with before it adds them: (D,), 1 without LayerScale."""
    block = model.block(layer - 1)
    attention, mlp = (
        as_array(scale.gamma) if isinstance(scale, LayerScale) else 1.0 for scale in (block.ls1, block.ls2)
    )
    return attention, mlp


def block_form(model: VisionTransformer, layer: int) -> BlockForm:
    """Return what a block does, from 1: where it normalises, scales and projects."""
    config = model.config
    return BlockForm(
        scale=model.block(layer - 1).attn.scale,
        pre_norm=config.norm == "pre",
        qkv_bias=config.qkv_bias,
        slices=config.head_input != "all",
        projects=config.output_projection,
        layer_scale=config.layer_scale is not None,
    )

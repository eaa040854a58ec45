"""Read parts of a Swin's weights as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vitviz.models.swin import PatchMerging, SwinTransformer
from vitviz.probe.capture import as_array

FloatArray = NDArray[np.float32]


def position_bias_table(model: SwinTransformer, stage: int, block: int) -> FloatArray:
    """Return the table of relative position biases, (heads, (2 Mh - 1)(2 Mw - 1)); stage and block count from 0."""
    return as_array(model.block(stage, block).attn.relative_position_bias_table).T.copy()


def block_window(model: SwinTransformer, stage: int, block: int) -> tuple[int, int]:
    """Return (rows, cols) of a block's windows."""
    found = model.block(stage, block)
    return found.plan(found.native_grid).window


def merging_norm(model: SwinTransformer, stage: int) -> tuple[FloatArray, FloatArray, float]:
    """Return the weight, bias (4 C,) and epsilon of the LayerNorm before the merging into a stage, 1 or later."""
    merging = model.get_submodule(f"layers.{stage}.downsample")
    if not isinstance(merging, PatchMerging):
        raise ValueError(f"stage {stage} does not begin by merging")
    return as_array(merging.norm.weight), as_array(merging.norm.bias), merging.norm.eps

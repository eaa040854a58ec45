"""Collect the inputs of the logit lens: a ViT's last LayerNorm, its heads, and the stream between its blocks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from vitviz.analysis.logit_lens import ReadoutWeights
from vitviz.models.vit import VisionTransformer
from vitviz.probe.capture import Capture, as_array


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

"""Apply the readout after every layer (nostalgebraist 2020, 'logit lens')."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import FloatArray
from vitviz.softmax import softmax


@dataclass(frozen=True, eq=False)
class ReadoutWeights:
    """A model's last LayerNorm (gain, shift, eps; None without one) and its linear heads.

    `weight` (classes, D) and `bias` (classes,); `dist_weight` and `dist_bias` are a DeiT's second head.
    """

    gain: FloatArray | None
    shift: FloatArray | None
    eps: float
    weight: FloatArray
    bias: FloatArray
    dist_weight: FloatArray | None = None
    dist_bias: FloatArray | None = None
    pooled_gain: FloatArray | None = None  # of a LayerNorm after the patches' mean
    pooled_shift: FloatArray | None = None


def layer_norm(tokens: FloatArray, gain: FloatArray, shift: FloatArray, eps: float) -> FloatArray:
    """Return LN(x) = gain (x - mean) / sqrt(var + eps) + shift, over the last axis (Ba et al. 2016)."""
    centred = tokens - tokens.mean(axis=-1, keepdims=True)
    return np.asarray(gain * centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps) + shift)


def _normed(tokens: FloatArray, readout: ReadoutWeights) -> FloatArray:
    if readout.gain is None or readout.shift is None:
        return tokens
    return layer_norm(tokens, readout.gain, readout.shift, readout.eps)


def _pooled(features: FloatArray, readout: ReadoutWeights) -> FloatArray:
    if readout.pooled_gain is None or readout.pooled_shift is None:
        return features
    return layer_norm(features, readout.pooled_gain, readout.pooled_shift, readout.eps)


def read_features(
    normed: FloatArray, readout: ReadoutWeights, kind: str, prefix: tuple[str, ...]
) -> FloatArray:
    """Return the vector that the head reads of normed tokens (..., tokens, D): (..., D), twice D for 'cls_mean'."""
    first = len(prefix)
    if kind == "mean":
        return _pooled(normed[..., first:, :].mean(axis=-2), readout)
    if kind == "first_patch":
        return _pooled(normed[..., first, :], readout)
    cls = normed[..., prefix.index("cls"), :]
    if kind == "cls_mean":
        return np.concatenate([cls, normed[..., first:, :].mean(axis=-2)], axis=-1)
    return _pooled(cls, readout)


def lens_of_token(tokens: FloatArray, readout: ReadoutWeights, head: str = "cls") -> FloatArray:
    """Return the class probabilities of one token after every layer: softmax(W LN(z_l) + b).

    Args:
        tokens: (depth + 1, D), the token before the first block and after every block.
        head: 'dist' reads with a DeiT's second head.

    Returns:
        (depth + 1, classes).

    Raises:
        ValueError: if a second head is asked for and there is none.
    """
    weight, bias = readout.weight, readout.bias
    if head == "dist":
        if readout.dist_weight is None or readout.dist_bias is None:
            raise ValueError("the model has no distillation head")
        weight, bias = readout.dist_weight, readout.dist_bias
    return softmax(_pooled(_normed(tokens, readout), readout) @ weight.T + bias)


def lens_of_readout(
    tokens: FloatArray, readout: ReadoutWeights, kind: str, prefix: tuple[str, ...]
) -> FloatArray:
    """Return the class probabilities of the readout after every layer; the last row is the model's prediction.

    Args:
        tokens: (depth + 1, tokens, D).

    Returns:
        (depth + 1, classes).
    """
    normed = _normed(tokens, readout)
    logits: Any = read_features(normed, readout, kind, prefix) @ readout.weight.T + readout.bias
    if readout.dist_weight is not None and "dist" in prefix:
        logits = (logits + normed[:, prefix.index("dist")] @ readout.dist_weight.T + readout.dist_bias) / 2
    return softmax(logits)


def settling_layer(probabilities: NDArray[Any]) -> int:
    """Return the first row from which on the predicted class does not change; 0 is before any block."""
    favourite = probabilities.argmax(axis=-1)
    wrong = np.flatnonzero(favourite != favourite[-1])
    return int(wrong[-1]) + 1 if len(wrong) else 0

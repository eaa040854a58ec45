"""Apply the readout after every layer (logit lens), and split a class logit into shares (direct logit attribution)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import FloatArray, softmax

# A covector (tokens, D) gives the logit's derivative by every token, with all LayerNorms held fixed.


@dataclass(frozen=True, eq=False)
class Heads:
    """The heads of one layer: outputs (heads, tokens, d), projection (D, heads d) and its bias (D,)."""

    outputs: FloatArray
    projection: FloatArray
    bias: FloatArray

    def shares(self, covector: FloatArray) -> FloatArray:
        """Return each head's share (heads,)."""
        heads, tokens, width = self.outputs.shape
        read = (covector @ self.projection).reshape(tokens, heads, width)
        return np.asarray(np.einsum("htd,thd->h", self.outputs.astype(np.float64), read))


@dataclass(frozen=True, eq=False)
class MlpVectors:
    """The vectors (tokens, D) that an MLP adds."""

    added: FloatArray


@dataclass(frozen=True, eq=False)
class FixedNorm:
    """A LayerNorm whose mean and standard deviation stay those of its inputs (tokens, D)."""

    gain: FloatArray
    shift: FloatArray
    eps: float
    inputs: FloatArray

    def pull_back(self, covector: FloatArray) -> FloatArray:
        """Return the covector of the inputs."""
        scaled = (
            covector * self.gain / np.sqrt(self.inputs.astype(np.float64).var(-1, keepdims=True) + self.eps)
        )
        return np.asarray(scaled - scaled.mean(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Gather:
    """A Swin's patch merging before its norm: token m holds the tokens `quads[m]` side by side, -1 is padding."""

    quads: NDArray[np.integer[Any]]
    tokens: int

    def pull_back(self, covector: FloatArray) -> FloatArray:
        """Return the covector (tokens, D) of a covector (merged tokens, 4 D)."""
        parts = covector.reshape(self.quads.size, -1)
        pulled = np.zeros((self.tokens, parts.shape[1]))
        real = self.quads.ravel() >= 0
        np.add.at(pulled, self.quads.ravel()[real], parts[real])
        return pulled


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear map without bias of every token, weight (outputs, inputs)."""

    weight: FloatArray


PathStep = Heads | MlpVectors | FixedNorm | Gather | Linear


@dataclass(frozen=True, eq=False)
class Attribution:
    """The shares that sum to a class logit.

    Attributes:
        heads: (layers, most heads); NaN where a layer has fewer heads.
        mlps: (layers,).
        embedding: of the tokens before the first layer, positions included.
        biases: of attention projections, LayerNorms and the classifier head.
    """

    heads: FloatArray
    mlps: FloatArray
    embedding: float
    biases: float

    @property
    def logit(self) -> float:
        """The class logit, as the sum of all shares."""
        return float(np.nansum(self.heads) + self.mlps.sum()) + self.embedding + self.biases

    @property
    def layers(self) -> FloatArray:
        """The share of each layer (layers,)."""
        return np.asarray(np.nansum(self.heads, axis=1) + self.mlps)


def attribute_logit(
    covector: FloatArray, steps: Sequence[PathStep], embedded: FloatArray, bias: float
) -> Attribution:
    """Split a logit by walking back through the residual stream (Elhage et al. 2021; nostalgebraist 2020).

    The logit is linear in what each part adds once the LayerNorms keep their recorded mean and deviation. A part's
    share is therefore the dot product of its vectors with the covector at its place.

    Args:
        covector: (tokens, D) by which the classifier head reads the last tokens.
        steps: from the first layer to the last LayerNorm.
        embedded: (tokens, D) before the first layer.
    """
    covector = np.asarray(covector, np.float64)
    heads: list[FloatArray] = []
    mlps: list[float] = []
    for step in reversed(steps):
        if isinstance(step, Heads):
            heads.append(step.shares(covector))
            bias += float(covector.sum(axis=0) @ step.bias)
        elif isinstance(step, MlpVectors):
            mlps.append(float((covector * step.added).sum()))
        elif isinstance(step, FixedNorm):
            bias += float(covector.sum(axis=0) @ step.shift)
            covector = step.pull_back(covector)
        elif isinstance(step, Gather):
            covector = step.pull_back(covector)
        else:
            covector = covector @ step.weight
    table = np.full((len(heads), max((len(row) for row in heads), default=0)), np.nan)
    for row, shares in zip(table, reversed(heads), strict=True):
        row[: len(shares)] = shares
    return Attribution(table, np.array(mlps[::-1]), float((covector * embedded).sum()), bias)


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


def normalise_logit_difference(
    logits: FloatArray, first: FloatArray, second: FloatArray
) -> NDArray[np.float64] | None:
    """Return (d - d_second) / (d_first - d_second): 1 as in the first image's run, 0 as in the second's.

    d is the logit of the first image's predicted class minus that of the second's.

    Args:
        logits: (..., classes), of runs on either image with parts of the other.
        first, second: (classes,), of each image alone.

    Returns:
        (...); None if both images have the same predicted class.
    """
    a, b = int(first.argmax()), int(second.argmax())
    if a == b:
        return None
    patched, high, low = (np.asarray(z[..., a] - z[..., b], np.float64) for z in (logits, first, second))
    return np.asarray((patched - low) / (high - low))

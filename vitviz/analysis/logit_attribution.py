"""Split a class logit into the shares of heads, MLPs, embedding and biases (direct logit attribution)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
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
class Mlp:
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


Step = Heads | Mlp | FixedNorm | Gather | Linear


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
    covector: FloatArray, steps: Sequence[Step], embedded: FloatArray, bias: float
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
        elif isinstance(step, Mlp):
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

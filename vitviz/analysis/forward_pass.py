"""Hold the activations of one forward pass, part by part, and compute the statistics that the map shows."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
STRONGEST = 5  # keys of a token that the map draws as arcs
Grid = tuple[int, int]


@dataclass(frozen=True)
class Tokens:
    """Layout of a token sequence: prefix tokens by name, then a grid (rows, cols) in reading order; cell side in px."""

    prefix: tuple[str, ...]
    grid: Grid
    cell_px: int

    @property
    def count(self) -> int:
        return len(self.prefix) + self.grid[0] * self.grid[1]


@dataclass(frozen=True, eq=False)
class MapLevel:
    """Feature maps (channels, h, w) after one convolution or one block."""

    title: str
    maps: FloatArray


@dataclass(frozen=True, eq=False)
class CutPatches:
    """The image cut into squares of `values` values each."""

    values: int


@dataclass(frozen=True, eq=False)
class EmbeddedPatches:
    """Patch embeddings (N, D) before position embeddings; E's columns (D, C, P, P), None for a convolutional stem."""

    vectors: FloatArray
    filters: FloatArray | None


@dataclass(frozen=True, eq=False)
class FeatureMaps:
    """Feature maps of a stem or stage, one level per convolution or block."""

    levels: tuple[MapLevel, ...]


@dataclass(frozen=True, eq=False)
class PrefixTokens:
    """Learned tokens before the patches, (P, D)."""

    vectors: FloatArray


@dataclass(frozen=True, eq=False)
class AddedPositions:
    """Position embeddings, (T, D), or (N, D) if `on_prefix` is False.

    of_pixels: True if a second linear map of each patch's pixels replaces them; it carries no position information.
    """

    table: FloatArray
    on_prefix: bool
    learned: bool
    of_pixels: bool = False


@dataclass(frozen=True, eq=False)
class StrongestKeys:
    """Each token's strongest keys (n, k) in the mean over the heads, strongest first, and their weights (n, k)."""

    keys: IntArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class BlockPass:
    """Attention and residual updates of one block.

    row: (n,), attention of the readout token, the mean of the heads; `row_of` names the token.
    stream: (2, n, D), the residual stream after attention and after the MLP.
    added: (2, n, D), the outputs of attention and MLP.
    entering: (n, D), the input of the block.
    window: the sides of a window in tokens, None for global attention.
    """

    layer: int
    stage: int
    row_of: str
    row: FloatArray
    strongest: StrongestKeys
    entering: FloatArray
    added: FloatArray
    stream: FloatArray
    window: Grid | None = None
    shifted: bool = False

    @cached_property
    def lengths(self) -> FloatArray:
        """Norms (n, 5) of: input, attention output, MLP output, stream after attention, stream after the MLP."""
        vectors = (self.entering, *self.added, *self.stream)
        return np.stack([np.linalg.norm(rows, axis=-1) for rows in vectors], axis=-1)


@dataclass(frozen=True, eq=False)
class MergedTokens:
    """Tokens after patch merging: (n, 2 C)."""

    vectors: FloatArray
    stage: int


@dataclass(frozen=True, eq=False)
class NormedTokens:
    """Token norms (n,) before and after the final LayerNorm; the head reads `token`, -1: all tokens."""

    before: FloatArray
    after: FloatArray
    token: int


@dataclass(frozen=True, eq=False)
class PooledVector:
    """Pooled vector (D,); `how` is 'mean', 'max' or 'first patch'."""

    vector: FloatArray
    how: str


@dataclass(frozen=True, eq=False)
class ClassifierHeads:
    """Inputs of the classifier head by name, (1, D), or (2, D) for a DeiT, and its weights (1 or 2, classes, D)."""

    names: tuple[str, ...]
    vectors: FloatArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Logits and probabilities (classes,), and the logit lens (layers, classes)."""

    logits: FloatArray
    probabilities: FloatArray
    lens: FloatArray | None = None


Content = (
    CutPatches
    | EmbeddedPatches
    | FeatureMaps
    | PrefixTokens
    | AddedPositions
    | BlockPass
    | MergedTokens
    | NormedTokens
    | PooledVector
    | ClassifierHeads
    | ClassScores
    | None  # the image itself
)


@dataclass(frozen=True, eq=False)
class Part:
    """One part of the model: its id on the map, its shapes and its activations for one image.

    tokens: the layout of its output.
    """

    id: str
    shape_in: tuple[int, ...]
    shape_out: tuple[int, ...]
    tokens: Tokens | None
    content: Content


@dataclass(frozen=True, eq=False)
class Journey:
    """All parts of one forward pass, in order.

    readout: 'cls', 'mean', 'first_patch' or 'max'. sequence: the first token layout. heads: of each layer, in a Swin of
    the first; 0 without attention. depth: layers. why_bare: the reason if only image and classes can be shown, else ''.
    """

    parts: tuple[Part, ...]
    readout: str
    sequence: Tokens
    heads: int = 0
    depth: int = 0
    why_bare: str = ""

    def part(self, name: str) -> Part | None:
        return next((part for part in self.parts if part.id == name), None)


def select_strongest_keys(attn: FloatArray, keys_of: IntArray | None = None) -> StrongestKeys:
    """Return the `STRONGEST` keys with the largest mean weight over the heads; ties go to the first key.

    Args:
        attn: (heads, n, m), attention weights.
        keys_of: (n, m), token index of each key; None if key j is token j; -1 marks padding, which is never selected.
    """
    mean = attn.mean(axis=0)
    if keys_of is not None:
        mean = np.where(keys_of >= 0, mean, -1.0)
    order = np.argsort(-mean, axis=-1, kind="stable")[:, :STRONGEST]
    keys = order if keys_of is None else np.take_along_axis(keys_of, order, axis=-1)
    return StrongestKeys(keys, np.take_along_axis(mean, order, axis=-1))


def select_readout_row(attn: FloatArray, prefix: tuple[str, ...], readout: str) -> tuple[str, FloatArray]:
    """Select the attention row of the token that the classifier head reads.

    Args:
        attn: (heads, n, n).

    Returns:
        'cls', 'mean' or 'first_patch', and (n,), the mean of the heads.
    """
    mean = attn.mean(axis=0)
    if readout in ("cls", "cls_mean"):
        return "cls", mean[prefix.index("cls")]
    if readout == "first_patch":
        return readout, mean[len(prefix)]
    return "mean", mean[len(prefix) :].mean(axis=0)


def average_received_weights(attn: FloatArray, window_index: IntArray) -> FloatArray:
    """Return the mean weight (n,) that each token receives from its window's queries, over the heads.

    Args:
        attn: (windows, heads, query slot, key slot) of one image.
        window_index: (windows, slots), token of each slot, -1 for padding.
    """
    inside = window_index >= 0
    queries = inside.sum(axis=1)
    received = (attn.mean(axis=1) * inside[:, :, None]).sum(axis=1) / queries[:, None]  # (windows, key slot)
    row = np.zeros(int(window_index.max()) + 1, dtype=np.float32)
    row[window_index[inside]] = received[inside]
    return row


def select_varied_channels(maps: FloatArray, count: int) -> IntArray:
    """Return up to `count` channels of (channels, positions …) with the largest variance, in descending order."""
    variance = maps.reshape(len(maps), -1).var(axis=-1)
    return np.argsort(-variance, kind="stable")[:count]

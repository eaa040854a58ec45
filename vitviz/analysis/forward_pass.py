"""Hold the activations of one forward pass, part by part, and compute the statistics that the map shows."""

from dataclasses import dataclass, field
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
    """Each token's strongest keys in the mean over the heads, strongest first; `heads` holds the head of most weight.

    keys and heads (n, k) integers, weights (n, k).
    """

    keys: IntArray
    weights: FloatArray
    heads: IntArray


@dataclass(frozen=True, eq=False)
class BlockPass:
    """Attention rows and residual updates of one block.

    rows: (1 + heads, n), attention of the readout token, row 0 the mean of the heads; `row_of` names the token.
    second: (1 + heads, n) of [DIST], or None.
    stream: (2, n, D), the residual stream after attention and after the MLP.
    added: (2, n, D), the outputs of attention and MLP.
    entering: (n, D), the input of the block.
    window: (n,), the window of each token, None for global attention; `window_grid` its sides in tokens.
    """

    layer: int
    stage: int
    heads: int
    row_of: str
    rows: FloatArray
    second: FloatArray | None
    strongest: StrongestKeys
    entering: FloatArray
    added: FloatArray
    stream: FloatArray
    window: IntArray | None = None
    window_grid: Grid | None = None
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
    """Inputs of the classifier head by name, (1, D), or (2, D) for a DeiT, and its parameters.

    weights: (1 or 2, classes, D); biases: (1 or 2, classes).
    """

    names: tuple[str, ...]
    vectors: FloatArray
    weights: FloatArray
    biases: FloatArray


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Logits and probabilities (classes,), a DeiT's logits per head, and the logit lens (layers, classes)."""

    logits: FloatArray
    probabilities: FloatArray
    by_cls: FloatArray | None = None
    by_dist: FloatArray | None = None
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
    shape_words: str
    tokens: Tokens | None
    content: Content


@dataclass(frozen=True, eq=False)
class Journey:
    """All parts of one forward pass, in order.

    readout: 'cls', 'mean', 'first_patch' or 'max'. sequence: the first token layout. dims: the model's sizes by name.
    why_bare: the reason if only image and classes can be shown, else ''.
    """

    parts: tuple[Part, ...]
    readout: str
    sequence: Tokens
    dims: dict[str, int | None] = field(default_factory=dict)
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
    weights = np.take_along_axis(mean, order, axis=-1)
    heads = np.take_along_axis(attn, np.broadcast_to(order, (len(attn), *order.shape)), axis=-1).argmax(
        axis=0
    )
    keys = order if keys_of is None else np.take_along_axis(keys_of, order, axis=-1)
    return StrongestKeys(keys, weights, heads)


def prepend_mean(rows: FloatArray) -> FloatArray:
    """Prepend the mean over the heads: (heads, n) -> (1 + heads, n)."""
    return np.concatenate([rows.mean(axis=0, keepdims=True), rows])


def select_readout_rows(
    attn: FloatArray, prefix: tuple[str, ...], readout: str, name: str = "cls"
) -> tuple[str, FloatArray]:
    """Select the attention row of the token that the classifier head reads, in every head.

    Args:
        attn: (heads, n, n).
        name: prefix token to select if the readout is 'cls'.

    Returns:
        'cls', 'dist', 'mean' or 'first_patch', and (1 + heads, n), the mean of the heads first.
    """
    first = len(prefix)
    if readout in ("cls", "cls_mean"):
        return name, prepend_mean(attn[:, prefix.index(name)])
    if readout == "first_patch":
        return readout, prepend_mean(attn[:, first])
    return "mean", prepend_mean(attn[:, first:].mean(axis=1))


def average_received_weights(attn: FloatArray, window_index: IntArray) -> FloatArray:
    """Return the mean weight (1 + heads, n) that each token receives from its window's queries; row 0: mean of heads.

    Args:
        attn: (windows, heads, query slot, key slot) of one image.
        window_index: (windows, slots), token of each slot, -1 for padding.
    """
    inside = window_index >= 0
    queries = inside.sum(axis=1)
    received = (attn * inside[:, None, :, None]).sum(axis=2) / queries[
        :, None, None
    ]  # (windows, heads, key slot)
    rows = np.zeros((attn.shape[1], int(window_index.max()) + 1), dtype=np.float32)
    window, slot = np.nonzero(inside)
    rows[:, window_index[window, slot]] = received[window, :, slot].T
    return prepend_mean(rows)


def select_varied_channels(maps: FloatArray, count: int) -> IntArray:
    """Return up to `count` channels of (channels, positions …) with the largest variance, in descending order."""
    variance = maps.reshape(len(maps), -1).var(axis=-1)
    return np.argsort(-variance, kind="stable")[:count]

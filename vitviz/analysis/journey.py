"""What a picture becomes on its way through a model, part by part, as arrays: the map's own nouns, and their sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
STRONGEST = 5  # keys of a token that the map draws as arcs
Grid = tuple[int, int]


@dataclass(frozen=True)
class Tokens:
    """Where tokens stand: prefix tokens by name, then a grid (rows, cols) in reading order, a cell's side in px."""

    prefix: tuple[str, ...]
    grid: Grid
    cell_px: int

    @property
    def count(self) -> int:
        """All of them."""
        return len(self.prefix) + self.grid[0] * self.grid[1]


@dataclass(frozen=True, eq=False)
class Level:
    """Feature maps (channels, h, w) that one convolution, or one block of them, leaves."""

    title: str
    maps: FloatArray


@dataclass(frozen=True, eq=False)
class Cut:
    """The picture in squares, each a row of `values` numbers."""

    values: int


@dataclass(frozen=True, eq=False)
class Embedded:
    """What a patch becomes: tokens (N, D) before anything is added; E's columns (D, C, P, P) where it is one matrix."""

    vectors: FloatArray
    filters: FloatArray | None


@dataclass(frozen=True, eq=False)
class Maps:
    """Feature maps, level after level."""

    levels: tuple[Level, ...]


@dataclass(frozen=True, eq=False)
class Prefix:
    """The learned tokens before the patches, (P, D)."""

    vectors: FloatArray


@dataclass(frozen=True, eq=False)
class Positions:
    """What is added for the places, (T, D) or, where `on_prefix` is False, (N, D).

    of_pixels: a second linear map of each patch's own pixels stands there: it knows no place.
    """

    table: FloatArray
    on_prefix: bool
    learned: bool
    of_pixels: bool = False


@dataclass(frozen=True, eq=False)
class Strongest:
    """Every token's strongest keys in the mean of the heads, strongest first; `heads` gives each of them most.

    keys and heads (n, k) integers, weights (n, k).
    """

    keys: IntArray
    weights: FloatArray
    heads: IntArray


@dataclass(frozen=True, eq=False)
class Attended:
    """One block: who looks at whom, and what is added to the stream.

    rows: (1 + heads, n) what the answer reads, row 0 the mean of the heads; `row_of` says whose row it is.
    second: the same of [DIST], or None.
    stream: (2, n, D) after attention and after the MLP, as the tokens leave each half.
    added: (2, n, D) what attention adds and what the MLP adds.
    entering: (n, D).
    window: (n,) the token's window, None where it sees all; `window_grid` its sides in tokens.
    """

    layer: int
    stage: int
    heads: int
    row_of: str
    rows: FloatArray
    second: FloatArray | None
    strongest: Strongest
    entering: FloatArray
    added: FloatArray
    stream: FloatArray
    window: IntArray | None = None
    window_grid: Grid | None = None
    shifted: bool = False

    @property
    def lengths(self) -> FloatArray:
        """(n, 5) of the token that enters, of what attention adds and the MLP adds, of the token between and after."""
        return lengths(self.entering, *self.added, *self.stream)


@dataclass(frozen=True, eq=False)
class Merged:
    """Two by two neighbours made one token: (n, 2 C)."""

    vectors: FloatArray
    stage: int


@dataclass(frozen=True, eq=False)
class Normed:
    """The last LayerNorm: lengths (n,) of what goes in and of what comes out; `token` is read, -1 for all."""

    before: FloatArray
    after: FloatArray
    token: int


@dataclass(frozen=True, eq=False)
class Pooled:
    """One vector (D,) of all places; `how` is 'mean', 'max' or 'first patch'."""

    vector: FloatArray
    how: str


@dataclass(frozen=True, eq=False)
class Heads:
    """What the head reads, (1, D), or of a DeiT (2, D), by name, and what it multiplies that with.

    weights: (1 or 2, classes, D); biases: (1 or 2, classes).
    """

    names: tuple[str, ...]
    vectors: FloatArray
    weights: FloatArray
    biases: FloatArray


@dataclass(frozen=True, eq=False)
class Classes:
    """The answer: (classes,) each; a DeiT's two heads apart; `lens` (stations, classes) if it were read earlier."""

    logits: FloatArray
    probabilities: FloatArray
    by_cls: FloatArray | None = None
    by_dist: FloatArray | None = None
    lens: FloatArray | None = None
    why_no_lens: str = ""


Content = (
    Cut
    | Embedded
    | Maps
    | Prefix
    | Positions
    | Attended
    | Merged
    | Normed
    | Pooled
    | Heads
    | Classes
    | None  # the picture itself
)


@dataclass(frozen=True, eq=False)
class Part:
    """One part of the model: its id on the map, what goes in and comes out, and what it holds of this picture.

    tokens: those that leave it.
    """

    id: str
    shape_in: tuple[int, ...]
    shape_out: tuple[int, ...]
    shape_words: str
    tokens: Tokens | None
    content: Content


@dataclass(frozen=True, eq=False)
class Journey:
    """All parts in the order of the data.

    readout: 'cls', 'mean', 'first_patch' or 'max'. sequence: the first one. dims: the model's sizes by name.
    why_bare: why the picture and the answer are all of its parts; '' where there are more.
    """

    parts: tuple[Part, ...]
    readout: str
    sequence: Tokens
    dims: dict[str, int | None] = field(default_factory=dict)
    why_bare: str = ""

    def part(self, name: str) -> Part | None:
        """A part by its id; None where the model has none."""
        return next((part for part in self.parts if part.id == name), None)


def strongest_keys(attn: FloatArray, keys_of: IntArray | None = None) -> Strongest:
    """The `STRONGEST` keys with the largest mean weight over the heads, or all of fewer; of equals the first.

    Args:
        attn: (heads, n, m), each row the weights of a token's m keys.
        keys_of: (n, m) the token that each key is; None where key j is token j; -1 is no token and never chosen.
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
    return Strongest(keys, weights, heads)


def with_mean(rows: FloatArray) -> FloatArray:
    """(heads, n) -> (1 + heads, n): the mean of the heads first."""
    return np.concatenate([rows.mean(axis=0, keepdims=True), rows])


def answer_rows(
    attn: FloatArray, prefix: tuple[str, ...], readout: str, name: str = "cls"
) -> tuple[str, FloatArray]:
    """Whose row of attention the answer is read from, and that row in every head.

    Args:
        attn: (heads, n, n).
        prefix: names of the tokens before the patches.
        readout: the config's.
        name: the prefix token whose row it is where the answer is read from [CLS].

    Returns:
        'cls', 'dist', 'mean' or 'first_patch', and (1 + heads, n), the mean of the heads first.
    """
    first = len(prefix)
    if readout == "cls":
        return name, with_mean(attn[:, prefix.index(name)])
    if readout == "first_patch":
        return readout, with_mean(attn[:, first])
    return "mean", with_mean(attn[:, first:].mean(axis=1))


def received(attn: FloatArray, window_index: IntArray) -> FloatArray:
    """(1 + heads, n): the weight that every token gets on average from the queries of its window, the mean first.

    Args:
        attn: (windows, heads, query slot, key slot) of one picture.
        window_index: (windows, slots), the token of each slot, -1 for padding.
    """
    inside = window_index >= 0
    queries = inside.sum(axis=1)
    given = (attn * inside[:, None, :, None]).sum(axis=2) / queries[
        :, None, None
    ]  # (windows, heads, key slot)
    rows = np.zeros((attn.shape[1], int(window_index.max()) + 1), dtype=np.float32)
    window, slot = np.nonzero(inside)
    rows[:, window_index[window, slot]] = given[window, :, slot].T
    return with_mean(rows)


def lengths(*vectors: FloatArray) -> FloatArray:
    """(n, k): the Euclidean lengths of k arrays (n, D)."""
    return np.stack([np.linalg.norm(rows, axis=-1) for rows in vectors], axis=-1)


def most_varied(maps: FloatArray, count: int) -> IntArray:
    """At most `count` channels of (channels, places …) that differ most over the places, the most varied first."""
    variance = maps.reshape(len(maps), -1).var(axis=-1)
    return np.argsort(-variance, kind="stable")[:count]


def cosines(table: FloatArray) -> FloatArray:
    """(T, T): the cosine of every two rows of (T, D); 0 where a row is zero."""
    sizes = np.linalg.norm(table, axis=-1, keepdims=True)
    unit = np.divide(table, sizes, out=np.zeros_like(table), where=sizes > 0)
    return np.asarray(np.clip(unit @ unit.T, -1, 1))


def components(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The first three principal components of rows (n, D), as scores.

    Returns:
        (3, n), each with its largest value positive, and the share of the variance of each, (3,).
    """
    centred = rows - rows.mean(axis=0)
    left, sizes, _ = np.linalg.svd(np.asarray(centred, np.float64), full_matrices=False)
    scores = (left * sizes).T[:3]
    flip = np.sign(scores[np.arange(len(scores)), np.abs(scores).argmax(axis=1)])
    total = float((sizes**2).sum())
    share = sizes[:3] ** 2 / total if total else np.zeros(len(scores))
    return scores * np.where(flip == 0, 1, flip)[:, None], share

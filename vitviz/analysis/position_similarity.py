"""Measure tables of positions: cosine similarities, structure along rows and columns, four desirable properties."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vitviz import sinusoids
from vitviz.analysis.attention import FloatArray, rank_correlation

Grid = tuple[int, int]
Encoding = Literal["sincos_1d", "sincos_2d_sum", "sincos_2d_concat", "rotary", "slip", "random", "none"]
SAME_CODE = 1e-6  # of the largest squared distance: closer codes are one code, up to rounding


def encode(kind: Encoding, grid: Grid, dim: int, base: float = 10000.0, seed: int = 0) -> FloatArray:
    """Return a table (rows * cols, dim) by name; 'random' draws from N(0, 1), 'none' is zero everywhere.

    'rotary' is a query or key whose pairs all are (1, 0), turned as at each position: dot products are scores q · k.

    Raises:
        ValueError: if the encoding is not known, or does not exist for this width.
    """
    rows, cols = grid
    if kind == "sincos_1d":
        return sinusoids.sincos_1d(rows * cols, dim, base)
    if kind == "slip":
        return sinusoids.sincos_1d_slip(rows * cols, dim, base)
    if kind == "sincos_2d_sum":
        return sinusoids.sincos_2d_sum(rows, cols, dim, base)
    if kind == "sincos_2d_concat":
        return sinusoids.sincos_2d_concat(rows, cols, dim, base)
    if kind == "rotary":
        angles = sinusoids.rotary_2d(rows, cols, dim, base)
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    if kind == "random":
        return np.random.default_rng(seed).standard_normal((rows * cols, dim))
    if kind == "none":
        return np.zeros((rows * cols, dim))
    raise ValueError(f"an encoding of positions is sincos_1d, sincos_2d_sum, ... or none, received {kind!r}")


def exponents(kind: Encoding, dim: int) -> FloatArray:
    """Return e_k (dim,), where column k is sin or cos of p / base^e_k; NaN if a column is no wave."""
    column = np.arange(dim)
    if kind in ("sincos_1d", "sincos_2d_sum"):
        return (column - column % 2) / dim
    if kind == "slip":
        return column / dim
    if kind == "sincos_2d_concat":
        quarter = dim // 4
        return (column % quarter) / (quarter - 1)
    return np.full(dim, np.nan)


def rotary_turns(grid: Grid, dim: int, base: float, offset: tuple[int, int]) -> FloatArray:
    """Return the angles (2, dim / 4) between query and key at an offset in patches: pairs of the row, of the column."""
    omega = 4 * np.pi * base ** (-np.arange(dim // 4) / (dim // 4))
    return np.stack([omega * step / side for step, side in zip(offset, grid, strict=True)])


def rotary_scores(grid: Grid, dim: int, base: float) -> FloatArray:
    """Return q · k over all offsets (2 rows - 1, 2 cols - 1), for equal pairs and relative to offset 0."""
    steps = [range(1 - side, side) for side in grid]
    along = [
        np.cos([rotary_turns(grid, dim, base, (step, step))[axis] for step in steps[axis]]).mean(axis=1)
        for axis in (0, 1)
    ]
    return np.asarray((along[0][:, None] + along[1][None]) / 2)


def wavelengths(kind: Encoding, dim: int, base: float = 10000.0) -> FloatArray:
    """Return the period 2 pi base^e_k of each column, in positions (dim,); NaN if a column is no wave."""
    waves: FloatArray = 2 * np.pi * base ** exponents(kind, dim)
    return waves


def patch_rows(table: FloatArray, grid: Grid) -> FloatArray:
    """Return the patches' rows (N, D) of a table (P + N, D) or (1, P + N, D): prefix tokens dropped."""
    rows = np.asarray(table).reshape(-1, np.asarray(table).shape[-1])
    count = grid[0] * grid[1]
    return rows[len(rows) - count :]


def stretch_as_list(table: FloatArray, count: int) -> FloatArray:
    """Resize a table (N, D) along its reading order to (count, D): a bug that ignores rows.

    Linear; row ends then run into the next row's beginnings. `models.vit.resize_positions` is the right way.
    """
    rows = np.asarray(table, dtype=np.float64)
    place = np.linspace(0, len(rows) - 1, count)
    low = np.minimum(place.astype(int), max(0, len(rows) - 2))
    share = (place - low)[:, None]
    stretched: FloatArray = rows[low] * (1 - share) + rows[np.minimum(low + 1, len(rows) - 1)] * share
    return stretched


def dot_products(table: FloatArray) -> FloatArray:
    """Return the dot products of all pairs, (N, N)."""
    rows = np.asarray(table, dtype=np.float64)
    products: FloatArray = rows @ rows.T
    return products


def cosine_similarity(table: FloatArray) -> FloatArray:
    """Return the cosine of every position with every other, (N, N) in [-1, 1] (ViT paper, fig. 7 centre).

    A row of zeros has no direction: its similarities are 0, its own included.
    """
    rows = np.asarray(table, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    cosines: FloatArray = np.clip(unit @ unit.T, -1.0, 1.0)
    return cosines


def offsets(grid: Grid) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (row, column) steps from position i to position j, each (N, N)."""
    row, col = np.divmod(np.arange(grid[0] * grid[1]), grid[1])
    return row - row[:, None], col - col[:, None]


@dataclass(frozen=True, eq=False)
class Structure:
    """Mean similarity by distance in patches; index d is distance d, NaN where the grid has no such pair."""

    along_row: FloatArray  # same row, d columns apart
    along_column: FloatArray  # same column, d rows apart
    elsewhere: float  # neither row nor column shared
    either_step: float  # one step along the row or along the column


def measure_structure(similarity: FloatArray, grid: Grid) -> Structure:
    """Average a similarity matrix (N, N) over all pairs of equal distance, along rows and along columns."""
    down, right = (np.abs(part) for part in offsets(grid))

    def mean(mask: NDArray[np.bool_]) -> float:
        return float(similarity[mask].mean()) if mask.any() else float("nan")

    return Structure(
        np.array([mean((down == 0) & (right == d)) for d in range(grid[1])]),
        np.array([mean((right == 0) & (down == d)) for d in range(grid[0])]),
        mean((down > 0) & (right > 0)),
        mean(down + right == 1),
    )


def mean_along(line: FloatArray) -> float:
    """Return the mean similarity of different positions of one line, each distance once per pair.

    Args:
        line: (n,), the mean similarity at each distance: `Structure.along_row` or `along_column`.
    """
    count = len(line)
    if count < 2:
        return float("nan")
    return float(np.average(line[1:], weights=np.arange(count - 1, 0, -1)))


@dataclass(frozen=True)
class EncodingScores:
    """Scores of four desirable properties of an encoding; 0 is best for the first, 1 for the others."""

    overlap: float  # roughly orthogonal: mean |cosine| of two different positions
    distinct: float  # absolute: share of positions whose code no other position has
    relative: float  # relative: share of the similarities' variance that the offset alone explains
    near: float  # near means similar: minus the rank correlation of distance and similarity
    nearest: float  # share of positions whose most similar other is one step away, diagonals included


def score_encoding(table: FloatArray, grid: Grid) -> EncodingScores:
    """Measure the four desirable properties of a table (N, D).

    relative is 1 - (variance within pairs of one offset) / (variance of all pairs), over different positions:
    1 when similarity depends on the step from one patch to the other alone. Where all pairs are equally
    similar it is NaN, and so is `near`: there is nothing to explain. Of one position only `distinct` is a number.
    """
    similarity = cosine_similarity(table)
    if len(table) == 1:
        nan = float("nan")
        return EncodingScores(nan, _share_of_own_codes(table), nan, nan, nan)
    down, right = offsets(grid)
    pairs = ~np.eye(len(similarity), dtype=bool)
    values = similarity[pairs]
    label = ((down + grid[0]) * (2 * grid[1] + 1) + right + grid[1])[pairs]
    _, group = np.unique(label, return_inverse=True)
    group_mean = np.bincount(group, values) / np.bincount(group)
    total = float(values.var())
    flat = total < 1e-12
    within = float(((values - group_mean[group]) ** 2).mean())
    distance = np.hypot(down, right)[pairs]
    best = np.where(pairs, similarity, -np.inf).argmax(axis=1)
    index = np.arange(len(similarity))
    steps = np.maximum(np.abs(down[index, best]), np.abs(right[index, best]))
    return EncodingScores(
        float(np.abs(values).mean()),
        _share_of_own_codes(table),
        float("nan") if flat else 1 - within / total,
        float("nan") if flat else -rank_correlation(distance, np.round(values, 9)),
        0.0 if flat else float((steps == 1).mean()),
    )


def _same_code(table: FloatArray) -> NDArray[np.bool_]:
    rows = np.asarray(table, dtype=np.float64)
    squares = (rows**2).sum(axis=1)
    apart = np.maximum(0.0, squares[:, None] + squares - 2 * rows @ rows.T)
    same: NDArray[np.bool_] = apart <= SAME_CODE * max(float(apart.max()), 1e-30)
    return same & ~np.eye(len(rows), dtype=bool)


def _share_of_own_codes(table: FloatArray) -> float:
    return float((~_same_code(table).any(axis=1)).mean())

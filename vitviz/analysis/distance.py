"""Compute mean attention distances in pixels, streamed so that memory stays bounded."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from vitviz.analysis.attention import FloatArray, entropy_bits

# NumPy's own threads would wait for torch's, which hold the cores a while after every forward pass: 17 times slower.
_threads = ThreadpoolController()
BINS = 24  # of a distribution over distances


def patch_distances_px(grid: tuple[int, int], patch_px: float) -> NDArray[np.float64]:
    """Return patch_px * ||pos_q - pos_k|| between the centres of all patches of a (rows, cols) grid.

    Returns:
        (N, N), in pixels; N = rows * cols in reading order.
    """
    row, col = np.divmod(np.arange(grid[0] * grid[1]), grid[1])
    distance: NDArray[np.float64] = patch_px * np.hypot(row[:, None] - row, col[:, None] - col)
    return distance


def uniform_distance_px(grid: tuple[int, int], patch_px: float, prefix_tokens: int = 0) -> float:
    """Return the mean distance of a head that spreads its attention evenly over all tokens, prefix included."""
    patches = grid[0] * grid[1]
    total = float(patch_distances_px(grid, patch_px).mean(axis=1).mean())
    return total * patches / (patches + prefix_tokens)


def corner_distance_px(grid: tuple[int, int], patch_px: float) -> float:
    """Return the largest possible attention distance, between opposite corner patches."""
    return float(patch_px * np.hypot(grid[0] - 1, grid[1] - 1))


def spread_of_heads(distance_px: FloatArray, even_px: float) -> float:
    """Return (max - min) / uniform: the spread of the heads relative to a head with uniform attention.

    Args:
        distance_px: of every head, any shape.
        even_px: see `uniform_distance_px`.
    """
    return float(np.ptp(distance_px)) / even_px if even_px else 0.0


def mean_attention_distance_px(
    attn: FloatArray, grid: tuple[int, int], patch_px: float, renormalise: bool = False
) -> NDArray[np.float64]:
    """Return d[..., h] = mean_q sum_k A[q, k] * P * ||pos_q - pos_k|| (ViT paper, fig. 7 right and fig. 11).

    Prefix tokens are dropped as queries and as keys and, as in the function that Raghu et al. published
    (gist.github.com/simonster/155894d48aef2bd36bd2dd8267e62391), what is left of a row is not renormalised: a head
    with 90 % of its mass on [CLS] reads 90 % short. `renormalise` divides each row by its mass on patches.

    Args:
        attn: (..., heads, T, T), rows sum to 1; the last rows * cols tokens are the patches.
        grid: (rows, cols).
        patch_px: a patch's side, in pixels.

    Returns:
        (..., heads), in pixels.

    Raises:
        ValueError: if there are fewer tokens than patches.
    """
    sums = _row_sums(attn, grid, patch_px)
    rows = sums.reach_px / np.maximum(sums.patch_mass, 1e-12) if renormalise else sums.reach_px
    mean: NDArray[np.float64] = rows.mean(axis=-1)
    return mean


@dataclass(frozen=True)
class _RowSums:
    """Per query patch: sum_k A * distance, and the mass on patches; both (..., heads, N)."""

    reach_px: NDArray[np.float64]
    patch_mass: NDArray[np.float64]


def _prefix_count(tokens: int, grid: tuple[int, int]) -> int:
    prefix = tokens - grid[0] * grid[1]
    if prefix < 0:
        raise ValueError(
            f"a {grid[0]} x {grid[1]} grid needs at least {grid[0] * grid[1]} tokens, received {tokens}"
        )
    return prefix


def _row_sums(attn: FloatArray, grid: tuple[int, int], patch_px: float) -> _RowSums:
    prefix = _prefix_count(attn.shape[-1], grid)
    distance = patch_distances_px(grid, patch_px).astype(attn.dtype)
    patches = attn[..., prefix:, prefix:]
    # Two passes over the rows as they lie in memory; no product of the size of the attention is ever made.
    reach = np.einsum("...qk,qk->...q", patches, distance)
    mass = 1.0 - attn[..., prefix:, :prefix].sum(axis=-1, dtype=np.float64)
    return _RowSums(reach.astype(np.float64), mass)


@dataclass(frozen=True, eq=False)
class AttentionDistances:
    """Attention statistics of several images, each by image, so that its spread can be drawn."""

    distance_px: NDArray[np.float64]  # (images, depth, heads), renormalised where asked for
    prefix_mass: NDArray[np.float64]  # (images, depth, heads), mean over patch queries
    mean_attn: NDArray[np.float32] | None  # (depth, heads, T, T), mean over images, where asked for
    entropy_bits: NDArray[np.float64] | None  # (images, depth, heads), mean over queries, where asked for


class DistanceStream:
    """Accumulates attention statistics block by block and batch by batch, without storing the attention."""

    def __init__(
        self,
        depth: int,
        grid: tuple[int, int],
        patch_px: float,
        renormalise: bool = False,
        with_entropy: bool = False,
        with_mean: bool = True,
    ) -> None:
        self.grid = grid
        self.patch_px = patch_px
        self._renormalise = renormalise
        self._with_entropy = with_entropy
        self._with_mean = with_mean
        self._parts: list[list[tuple[NDArray[np.float64], ...]]] = [[] for _ in range(depth)]
        self._total: list[NDArray[np.float32] | None] = [None] * depth
        self._images = [0] * depth
        self._weights: NDArray[np.float32] | None = None

    def add(self, layer: int, attn: FloatArray) -> None:
        """Add the attention (b, heads, T, T) of one block for the next b images."""
        images, heads, tokens, _ = attn.shape
        if self._weights is None or len(self._weights) != tokens * tokens:
            self._weights = _distance_weights(tokens, self.grid, self.patch_px)
        first = _prefix_count(tokens, self.grid)
        prefix = attn[..., first:, :first].sum(axis=(-2, -1), dtype=np.float64) / (tokens - first)
        if self._renormalise:
            distance = mean_attention_distance_px(attn, self.grid, self.patch_px, renormalise=True)
        else:  # linear in the attention: one matrix-vector product over it as it lies in memory
            with _threads.limit(limits=1, user_api="blas"):
                flat = attn.reshape(images * heads, -1) @ self._weights
            distance = flat.reshape(images, heads).astype(np.float64)
        entropy = (entropy_bits(attn).mean(axis=-1),) if self._with_entropy else ()
        self._parts[layer].append((distance, prefix, *entropy))
        self._images[layer] += images
        if self._with_mean:
            batch = attn.sum(axis=0, dtype=np.float32)
            total = self._total[layer]
            self._total[layer] = batch if total is None else np.add(total, batch, out=total)

    def result(self) -> AttentionDistances:
        """Return the statistics of all images taken so far."""
        stacked = [
            np.stack([np.concatenate([part[i] for part in parts]) for parts in self._parts], axis=1)
            for i in range(3 if self._with_entropy else 2)
        ]
        sums = [total for total in self._total if total is not None]
        mean = np.stack(sums) / np.float32(self._images[0]) if sums else None
        return AttentionDistances(stacked[0], stacked[1], mean, stacked[2] if self._with_entropy else None)


def _distance_weights(tokens: int, grid: tuple[int, int], patch_px: float) -> NDArray[np.float32]:
    """Return the contribution of each attention weight to the mean distance, (T * T,); 0 for prefix tokens."""
    prefix = _prefix_count(tokens, grid)
    weights = np.zeros((tokens, tokens), np.float32)
    weights[prefix:, prefix:] = patch_distances_px(grid, patch_px) / (tokens - prefix)
    return weights.ravel()


def offset_map(attn: FloatArray, grid: tuple[int, int]) -> NDArray[np.float64]:
    """Return the mean attention M[dr, dc] by the key's offset from the query, zero offset in the middle.

    Averaged over the queries for which that offset lies inside the image, so that borders do not fade.

    Args:
        attn: (T, T) of one head.

    Returns:
        (2 rows - 1, 2 cols - 1).
    """
    rows, cols = grid
    prefix = _prefix_count(attn.shape[-1], grid)
    row, col = np.divmod(np.arange(rows * cols), cols)
    dr = row[None, :] - row[:, None] + rows - 1
    dc = col[None, :] - col[:, None] + cols - 1
    flat = (dr * (2 * cols - 1) + dc).ravel()
    size = (2 * rows - 1) * (2 * cols - 1)
    total = np.bincount(flat, attn[prefix:, prefix:].ravel(), minlength=size)
    count = np.bincount(flat, minlength=size)
    return (total / np.maximum(count, 1)).reshape(2 * rows - 1, 2 * cols - 1)


def without_prefix(attn: FloatArray, grid: tuple[int, int]) -> FloatArray:
    """Return the attention between patches, with rows renormalised; (T, T) -> (N, N)."""
    prefix = _prefix_count(attn.shape[-1], grid)
    patches = attn[prefix:, prefix:]
    rows: FloatArray = patches / np.maximum(patches.sum(axis=-1, keepdims=True), 1e-12)
    return rows


def query_distances_px(attn: FloatArray, grid: tuple[int, int], patch_px: float) -> NDArray[np.float64]:
    """Return the attention distance of each query patch of one head; (T, T) -> (rows, cols), in pixels."""
    return _row_sums(attn, grid, patch_px).reach_px.reshape(grid)


def distance_distribution(
    attn: FloatArray, grid: tuple[int, int], patch_px: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the share of one head's attention between patches by distance; (T, T) -> (edges in pixels, mass per bin).

    The masses sum to the head's mean mass on patches: 1 less what goes to prefix tokens.
    """
    prefix = _prefix_count(attn.shape[-1], grid)
    distance = patch_distances_px(grid, patch_px)
    weights = attn[prefix:, prefix:] / len(distance)
    highest = max(corner_distance_px(grid, patch_px), patch_px) + 1e-9
    mass, edges = np.histogram(distance, bins=BINS, range=(0.0, highest), weights=weights)
    return edges, mass


def window_distances_px(
    attn: FloatArray, window_index: NDArray[np.integer[Any]], grid: tuple[int, int], patch_px: float
) -> NDArray[np.float64]:
    """Return the mean attention distance inside Swin's windows, by the tokens' true places in the image.

    Args:
        attn: (b, windows, heads, M*M, M*M).
        window_index: (windows, M*M), the reading-order index of each slot's patch; -1 where it is padding.
        grid: (rows, cols) of the stage's tokens.
        patch_px: the side of one token of this stage, in pixels.

    Returns:
        (b, heads), in pixels; padding is left out as query and as key, rows are not renormalised.
    """
    row, col = np.divmod(window_index, grid[1])
    distance = patch_px * np.hypot(row[:, :, None] - row[:, None], col[:, :, None] - col[:, None])
    real = window_index >= 0
    distance = distance * (real[:, :, None] & real[:, None])
    total: NDArray[np.float64] = np.einsum("bwhqk,wqk->bh", attn, distance, optimize=True)
    mean: NDArray[np.float64] = total / real.sum()
    return mean

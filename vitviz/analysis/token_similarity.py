"""Compute cosine similarities between the tokens of a layer, and their decay with distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]


def token_cosines(queries: FloatArray, places: FloatArray, *, without_mean: bool) -> NDArray[np.float64]:
    """Return cos(a, b) = a · b / (|a| |b|) of every query token with every token of the grid.

    Args:
        queries: (A, D). places: (N, D).
        without_mean: subtract the mean of the grid first, the direction that all tokens share.

    Returns:
        (A, N); 0 for a zero token.
    """
    mean = places.mean(axis=0) if without_mean else 0.0
    unit_queries, unit_places = (
        _normalise_rows(np.asarray(tokens - mean, np.float64)) for tokens in (queries, places)
    )
    return np.asarray(unit_queries @ unit_places.T)


def _normalise_rows(tokens: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(tokens, axis=1, keepdims=True)
    return np.asarray(np.divide(tokens, lengths, out=np.zeros_like(tokens), where=lengths > 1e-9))


def neighbour_mask(grid: tuple[int, int]) -> NDArray[np.bool_]:
    """Return an (N, N) mask of the grid cells that share an edge or a corner; False for a cell and itself."""
    rows, cols = np.indices(grid).reshape(2, -1)
    apart = np.maximum(abs(rows[:, None] - rows), abs(cols[:, None] - cols))
    return np.asarray(apart == 1)


def neighbour_contrast(similarity: FloatArray, grid: tuple[int, int]) -> float:
    """Return the mean cosine of neighbouring tokens minus that of all other pairs.

    Args:
        similarity: (N, N) between the places of the grid.

    Returns:
        The difference; 0 if all tokens are neighbours.
    """
    near = neighbour_mask(grid)
    far = ~near & ~np.eye(len(near), dtype=bool)
    return float(similarity[near].mean() - similarity[far].mean()) if far.any() and near.any() else 0.0

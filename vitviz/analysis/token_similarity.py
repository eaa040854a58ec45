"""Compute cosine similarities between the tokens of a layer, and their decay with distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]


def cosines(asked: FloatArray, places: FloatArray, *, without_mean: bool) -> NDArray[np.float64]:
    """cos(a, b) = a · b / (|a| |b|) of every token that is asked with every place.

    Args:
        asked: (A, D). places: (N, D).
        without_mean: takes the places' mean from both first: what all tokens share counts no more.

    Returns:
        (A, N); 0 for a token without length.
    """
    mean = places.mean(axis=0) if without_mean else 0.0
    one, other = (_of_length_one(np.asarray(tokens - mean, np.float64)) for tokens in (asked, places))
    return np.asarray(one @ other.T)


def _of_length_one(tokens: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(tokens, axis=1, keepdims=True)
    return np.asarray(np.divide(tokens, lengths, out=np.zeros_like(tokens), where=lengths > 1e-9))


def touching(grid: tuple[int, int]) -> NDArray[np.bool_]:
    """Return (N, N): which places of a grid touch each other, by an edge or a corner; none touches itself."""
    rows, cols = np.indices(grid).reshape(2, -1)
    apart = np.maximum(abs(rows[:, None] - rows), abs(cols[:, None] - cols))
    return np.asarray(apart == 1)


def lead_of_neighbours(similarity: FloatArray, grid: tuple[int, int]) -> float:
    """Return how much more alike touching places are than all other pairs: mean cosine against mean cosine.

    Args:
        similarity: (N, N) between the places of the grid.

    Returns:
        The difference; 0 where every place touches every other.
    """
    near = touching(grid)
    far = ~near & ~np.eye(len(near), dtype=bool)
    return float(similarity[near].mean() - similarity[far].mean()) if far.any() and near.any() else 0.0

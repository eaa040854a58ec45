"""Compute cosine similarities between the tokens of a layer, and their decay with distance."""

from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class Matches:
    """Pairs of mutual nearest neighbours, strongest first; (K,) each, tokens counted from 0."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    cosines: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.first)


def cosines_between(first: FloatArray, second: FloatArray, *, without_mean: bool) -> NDArray[np.float64]:
    """Return the cosine similarity of every token of one image with every token of another.

    Args:
        first: (N, D). second: (M, D).
        without_mean: subtract the mean of all N + M tokens first, the direction that they share.

    Returns:
        (N, M); 0 for a zero token.
    """
    mean = np.concatenate([first, second]).mean(axis=0) if without_mean else 0.0
    return token_cosines(first - mean, second - mean, without_mean=False)


def find_mutual_neighbours(
    cosines: FloatArray,
    first: NDArray[np.bool_] | None = None,
    second: NDArray[np.bool_] | None = None,
) -> Matches:
    """Return the pairs of tokens that are each other's nearest neighbour.

    Args:
        cosines: (N, M).
        first, second: (N,) and (M,), the tokens that count; None for all.
    """
    counted = np.array(cosines, np.float64)
    if first is not None:
        counted[~first] = -np.inf
    if second is not None:
        counted[:, ~second] = -np.inf
    forth, back = counted.argmax(axis=1), counted.argmax(axis=0)
    tokens = np.arange(len(counted))
    mutual = tokens[(back[forth] == tokens) & np.isfinite(counted[tokens, forth])]
    strength = counted[mutual, forth[mutual]]
    order = np.argsort(-strength, kind="stable")
    return Matches(mutual[order], forth[mutual][order], strength[order])


def spread_matches(matches: Matches, first: tuple[int, int], second: tuple[int, int]) -> tuple[Matches, int]:
    """Return the pairs reordered, and the number of first ones whose lines do not lie on each other.

    These lie at least an eighth of the first image's height from every stronger one, and in other rows of
    the second image.

    Args:
        first, second: rows and columns of both images.
    """
    apart = max(1, round(first[0] / 8))
    rows, ends = matches.first // first[1], matches.second // second[1]
    leading: list[int] = []
    for i in range(len(matches)):
        if all(abs(rows[i] - rows[j]) >= apart and ends[i] != ends[j] for j in leading):
            leading.append(i)
    order = np.array([*leading, *np.setdiff1d(np.arange(len(matches)), leading)], np.intp)
    return Matches(matches.first[order], matches.second[order], matches.cosines[order]), len(leading)


def share_at_true_place(
    cosines: FloatArray, true_cells: NDArray[np.integer[Any]], grid: tuple[int, int]
) -> float:
    """Return the share of patches whose nearest neighbour lies at most one cell from their true place.

    Args:
        cosines: (N, M).
        true_cells: (N,), each patch's cell in the second image; -1 where it lies outside. At least one lies inside.
        grid: (rows, cols) of the second image.
    """
    inside = np.flatnonzero(true_cells >= 0)
    nearest = np.divmod(cosines[inside].argmax(axis=1), grid[1])
    true = np.divmod(true_cells[inside], grid[1])
    apart = np.maximum(abs(nearest[0] - true[0]), abs(nearest[1] - true[1]))
    return float((apart <= 1).mean())

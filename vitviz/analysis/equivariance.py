"""Measure shift equivariance: the difference of a shifted image's map from the shifted and from the unshifted map."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]


def shift_map(places: FloatArray, cells: float) -> FloatArray:
    """Shift a map to the right by a number of cells, without the columns that enter from the left.

    A part of a cell is read between two columns, linearly.

    Args:
        places: (rows, cols, D).
        cells: at least 0, less than cols - 1.

    Returns:
        (rows, cols - ceil(cells), D), the columns from ceil(cells) on.
    """
    cols = places.shape[1]
    whole = int(np.ceil(cells))
    part = whole - cells  # of the column to the right
    source_places = places[:, : cols - whole]
    if not part:
        return source_places
    return np.asarray((1 - part) * source_places + part * places[:, 1 : cols - whole + 1])


def unlikeness(a: FloatArray, b: FloatArray) -> float:
    """Return sqrt(|a - b|^2 / (|a - mean a|^2 + |b - mean b|^2)), with the mean over the grid.

    0: the two are equal. 1: as unlike as two maps that have only their means in common. 0 where neither varies.

    Args:
        a, b: (rows, cols, D).
    """
    spread = sum(float(((features - features.mean(axis=(0, 1))) ** 2).sum()) for features in (a, b))
    return float(np.sqrt(((a - b) ** 2).sum() / spread)) if spread else 0.0


def move_and_stay(
    before: FloatArray, after: FloatArray, cells: float, margin: float = 0.0
) -> tuple[float, float]:
    """Return the difference of a shifted image's map from the shifted map, and from the unshifted map.

    Both as `unlikeness` counts, over the places that the shifted map has. A map that moves along exactly has (0, much);
    one that does not see the image (much, 0), or (little, 0) where it is smooth: so either alone says too little.

    Args:
        before: (rows, cols, D), of the image.
        after: (rows, cols, D), of the image moved to the right.
        cells: how far, in cells of the map.
        margin: the share of each side that is left out in both, where the image's border is felt.
    """
    rows, cols, _ = before.shape
    wanted, first = shift_map(before, cells), int(np.ceil(cells))
    top, side = round(margin * rows), round(margin * cols)
    left = max(first, min(first + side, cols - side - 1))  # the moved border is felt there; a column is left
    bottom, right = rows - top, max(cols - side, left + 1)
    there = after[top:bottom, left:right]
    return (
        unlikeness(there, wanted[top:bottom, left - first : right - first]),
        unlikeness(there, before[top:bottom, left:right]),
    )


def equivariance_errors(move: float, stay: float) -> float:
    """Return move / (move + stay): 0 if a map moves with the image, 1 if it stays, 0.5 in between."""
    return move / (move + stay) if move + stay else 0.0


def liveliest_channel(places: FloatArray) -> int:
    """Return the channel of a map (rows, cols, D) that varies most over the places."""
    return int(places.reshape(-1, places.shape[-1]).std(axis=0).argmax())

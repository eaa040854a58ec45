"""Compare two maps by rank correlation and shared mass."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]


def rank_correlation(a: FloatArray, b: FloatArray) -> float:
    """Return Spearman's rank correlation of two maps; 0 where a map is constant."""
    ranks = [_mean_ranks(values) for values in (a, b)]
    spread = [float(rank.std()) for rank in ranks]
    if min(spread) == 0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def shared_mass(a: FloatArray, b: FloatArray) -> NDArray[np.float64]:
    """Return Σ_k min(a_k, b_k) of rows normalised to sum 1: 1 if they are equal, 0 if they share no key.

    Args:
        a, b: (..., keys), not negative; a row of zeros shares nothing.
    """
    shares = []
    for rows in (a, b):
        rows = np.asarray(rows, dtype=np.float64)
        total = rows.sum(axis=-1, keepdims=True)
        shares.append(np.divide(rows, total, out=np.zeros_like(rows), where=total > 0))
    return np.asarray(np.minimum(*shares).sum(axis=-1))


def _mean_ranks(values: FloatArray) -> NDArray[np.float64]:
    """Return the ranks from 0, ties sharing their mean rank."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count + 1) / 2)[place], dtype=np.float64)

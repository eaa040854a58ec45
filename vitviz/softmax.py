"""Compute a numerically stable softmax of arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def softmax(scores: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Return exp(s) / sum exp(s) over the last axis."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

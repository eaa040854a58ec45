"""Count a classifier's confusions and select its worst mistakes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]


def confusion_counts(labels: Integers, guesses: Integers, classes: int) -> NDArray[np.int64]:
    """Return C[t, g], the number of images of class t predicted as g.

    Args:
        labels: (N,) true classes.
        guesses: (N,) predicted classes.

    Returns:
        (classes, classes), its sum is N.
    """
    flat = np.bincount(labels * classes + guesses, minlength=classes**2)
    return flat.reshape(classes, classes).astype(np.int64)


def confusion_shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each row of the counts over its sum; a class without images has a row of zeros."""
    shares: NDArray[np.float64] = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return shares


def most_confused(counts: NDArray[np.int64]) -> tuple[int, int, int] | None:
    """Return (true class, predicted class, count) of the most frequent confusion; None without mistakes."""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    if not wrong.any():
        return None
    true, guess = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return int(true), int(guess), int(wrong[true, guess])


def most_wrong(probabilities: NDArray[np.floating[Any]], labels: Integers, count: int) -> NDArray[np.int64]:
    """Return the indices of the images whose true class gets the least probability, worst first.

    Args:
        probabilities: (N, classes).
        labels: (N,).
        count: at most so many.
    """
    given = probabilities[np.arange(len(labels)), labels]
    return np.argsort(given, kind="stable")[:count].astype(np.int64)

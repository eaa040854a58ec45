"""Count confusions of classes, and track each validation image through training: learned, forgotten or never."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.text import plural

Booleans = NDArray[np.bool_]
Integers = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class MistakeCounts:
    """Counts of misclassified images at one snapshot, compared with the snapshots before it."""

    images: int
    wrong: int
    lost: int  # wrong now, correct at the previous snapshot
    gained: int  # correct now, wrong at the previous snapshot
    never: int  # wrong at every snapshot so far


def track_moments(right: Booleans) -> list[MistakeCounts]:
    """Return the counts of each snapshot.

    Args:
        right: (snapshots, images), True where an image is classified correctly.
    """
    moments = []
    for i, current in enumerate(right):
        before = right[i - 1] if i else current
        never = ~right[: i + 1].any(axis=0)
        counts = (~current, before & ~current, ~before & current, never)
        moments.append(MistakeCounts(right.shape[1], *(int(part.sum()) for part in counts)))
    return moments


def count_forgotten(right: Booleans) -> NDArray[np.int64]:
    """Count how often each image was correct at one snapshot and wrong at the next (Toneva et al. 2019).

    Args:
        right: (snapshots, images).

    Returns:
        (images,), counted over snapshots, not over updates.
    """
    lost: Booleans = right[:-1] & ~right[1:]
    times: NDArray[np.int64] = lost.sum(axis=0, dtype=np.int64)
    return times


def describe_moment(moment: MistakeCounts, first: bool) -> str:
    """Describe the misclassified images at a snapshot; `first`: there is no snapshot before it."""
    text = f"Misclassified: {moment.wrong:,} of {plural(moment.images, 'held-out image')}"
    if first:
        return f"{text}."
    return (
        f"{text}, {moment.lost:,} of them correct at the previous snapshot and {moment.never:,} never correct so far."
        f" Newly correct: {moment.gained:,}."
    )


def describe_forgotten(right: Booleans, labels: NDArray[np.integer[Any]], classes: Sequence[str]) -> str:
    """Describe how many images were forgotten and which was forgotten most often; '' if none was."""
    times = count_forgotten(right)
    if not times.size or not times.max():
        return ""
    worst = int(times.argmax())
    often = f", one of them ({classes[labels[worst]]}) {times[worst]:,} times" if times[worst] > 1 else ""
    return f"Learned and forgotten: {plural(int((times > 0).sum()), 'image')}{often}."


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

"""Segment an image by its tokens: clusters, and the foreground."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.token_colours import fit_components

FloatArray = NDArray[np.floating[Any]]
MOST_ROUNDS = 100


def cluster_tokens(tokens: FloatArray, count: int) -> NDArray[np.float64]:
    """Return the centres of a k-means clustering (Lloyd 1982) of tokens, the same for the same tokens.

    The first centre is the token nearest to the mean, each further one the token farthest from the centres so far.
    A centre that loses all of its tokens stays where it is.

    Args:
        tokens: (N, D).
        count: number of centres, at most N.

    Returns:
        (count, D).
    """
    x = np.asarray(tokens, np.float64)
    chosen = [int(_squared_distances(x, x.mean(axis=0)[None])[:, 0].argmin())]
    while len(chosen) < count:
        chosen.append(int(_squared_distances(x, x[chosen]).min(axis=1).argmax()))
    centres = x[chosen]
    labels = assign_tokens(x, centres)
    for _ in range(MOST_ROUNDS):
        for label in range(count):
            if (labels == label).any():
                centres[label] = x[labels == label].mean(axis=0)
        previous, labels = labels, assign_tokens(x, centres)
        if (previous == labels).all():
            break
    return centres


def assign_tokens(tokens: FloatArray, centres: FloatArray) -> NDArray[np.intp]:
    """Return the index of the nearest centre of every token, (N, D) and (k, D) -> (N,)."""
    labels: NDArray[np.intp] = _squared_distances(np.asarray(tokens, np.float64), centres).argmin(axis=1)
    return labels


def _squared_distances(tokens: FloatArray, centres: FloatArray) -> NDArray[np.float64]:
    squares = (tokens**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)[None]
    return np.asarray(squares - 2 * tokens @ centres.T)


def split_by_component(tokens: FloatArray) -> NDArray[np.bool_]:
    """Return the foreground: the tokens on one side of zero of the first principal component (Oquab et al. 2024).

    The sign of a component is arbitrary; the background is the side to which the image's border belongs on average.

    Args:
        tokens: (rows, cols, D).

    Returns:
        (rows, cols).
    """
    flat = tokens.reshape(-1, tokens.shape[-1])
    scores = fit_components(flat).scores(flat)[:, 0].reshape(tokens.shape[:2])
    border = np.concatenate([scores[0], scores[-1], scores[1:-1, 0], scores[1:-1, -1]])
    return np.asarray(scores > 0 if border.mean() < 0 else scores < 0)

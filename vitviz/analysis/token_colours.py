"""Colour tokens by their first principal components, and segment an image by clusters or its foreground."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
Uint8 = NDArray[np.uint8]
COUNT = 3  # red, green, blue
REACH = 2.0  # standard deviations from the middle of a colour to its end
MOST_ROUNDS = 100
MAX_SIDE = 32  # of a grid that pages compare; larger ones are averaged first


@dataclass(frozen=True, eq=False)
class ColourDirections:
    """Directions in which a layer's tokens differ most.

    mean: (D,). axes: (D, 3), of length 1. shares: (3,) of the tokens' variance. spread: (3,), the standard deviation of
    the tokens they were fitted to along each axis. order: where each stood among the components by variance, from 1.
    """

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]
    shares: NDArray[np.float64]
    spread: NDArray[np.float64]
    order: tuple[int, ...] = (1, 2, 3)

    def scores(self, tokens: FloatArray) -> NDArray[np.float64]:
        """Project tokens onto the axes: (..., D) -> (..., 3)."""
        projected: NDArray[np.float64] = (tokens - self.mean) @ self.axes
        return projected

    def reorder(self, order: Sequence[int], signs: FloatArray) -> "ColourDirections":
        """Return the same components in another order, with other signs."""
        at = list(order)
        return replace(
            self,
            axes=self.axes[:, at] * signs,
            shares=self.shares[at],
            spread=self.spread[at],
            order=tuple(self.order[i] for i in at),
        )


def fit_components(tokens: FloatArray) -> ColourDirections:
    """Return the three directions of most variance (Pearson 1901), of tokens (n, D); zeros where D is less than 3."""
    x = tokens.astype(np.float64)
    mean = x.mean(axis=0)
    values, axes = np.linalg.eigh(np.cov(x - mean, rowvar=False, bias=True).reshape(x.shape[1], -1))
    values, axes = values[::-1][:COUNT].clip(0), axes[:, ::-1][:, :COUNT]
    total = float(x.var(axis=0).sum())
    missing = COUNT - len(values)
    values, axes = np.pad(values, (0, missing)), np.pad(axes, ((0, 0), (0, missing)))
    shares = values / total if total > 0 else np.zeros(COUNT)
    return ColourDirections(mean, axes, shares, np.sqrt(values))


def orient_by_brightness(
    components: ColourDirections, tokens: FloatArray, brightness: FloatArray
) -> ColourDirections:
    """Return the components with signs such that each grows with brightness.

    Args:
        tokens: (n, D). brightness: (n,), of what each token stands for.
    """
    slope = (brightness - brightness.mean()) @ components.scores(tokens)
    return components.reorder(range(COUNT), np.where(slope < 0, -1.0, 1.0))


def match_previous(before: FloatArray, components: ColourDirections, current: FloatArray) -> ColourDirections:
    """Return the components with the order and signs that match the colours of the previous layer.

    Of all six orders the one in which the components' maps correlate most with those of the layer before, in sum and
    without regard to sign; then each gets the sign of its correlation.

    Args:
        before: (n, 3) scores of the layer before, at n places.
        current: (n, 3) scores of `components` at the same places.
    """
    alike = correlations(before, current)
    order = max(permutations(range(COUNT)), key=lambda at: sum(abs(alike[i, j]) for i, j in enumerate(at)))
    signs = np.array([-1.0 if alike[i, j] < 0 else 1.0 for i, j in enumerate(order)])
    return components.reorder(order, signs)


def correlations(first: FloatArray, second: FloatArray) -> NDArray[np.float64]:
    """Return (n, a), (n, b) -> (a, b) Pearson's correlations of columns; 0 where a column is constant."""
    rows = []
    for part in (first, second):
        x = part - part.mean(axis=0)
        length = np.linalg.norm(x, axis=0)
        rows.append(np.divide(x, length, out=np.zeros_like(x, dtype=np.float64), where=length > 1e-12))
    return np.asarray(rows[0].T @ rows[1])


def fit_layers(layers: Sequence[FloatArray], brightness: FloatArray) -> list[ColourDirections]:
    """Return the components of every layer, each matched with the previous one.

    Args:
        layers: a layer's tokens (B, rows, cols, D), of the same B images; grids may differ.
        brightness: (B, H, W) of the images, of any size.
    """
    fits: list[ColourDirections] = []
    last: NDArray[np.float64] | None = None
    for tokens in layers:
        flat = tokens.reshape(-1, tokens.shape[-1])
        fitted = fit_components(flat)
        if last is None:
            fitted = orient_by_brightness(
                fitted, flat, resample_grid(brightness[..., None], tokens.shape[1:3]).ravel()
            )
        else:
            grid = min(tokens.shape[1:3], last.shape[1:3])
            before, current = (
                resample_grid(x, grid).reshape(-1, COUNT) for x in (last, fitted.scores(tokens))
            )
            fitted = match_previous(before, fitted, current)
        fits.append(fitted)
        last = fitted.scores(tokens)
    return fits


def resample_grid(maps: FloatArray, grid: tuple[int, ...]) -> NDArray[np.float64]:
    """Resample (B, rows, cols, C) to another grid: the mean of each cell, or the nearest value."""
    out = np.asarray(maps, dtype=np.float64)
    for axis, cells in enumerate(grid, start=1):
        edges = np.linspace(0, out.shape[axis], cells + 1)
        low = np.minimum(np.floor(edges[:-1] + 1e-9).astype(int), out.shape[axis] - 1)
        high = np.maximum(np.ceil(edges[1:] - 1e-9).astype(int), low + 1)
        parts = [out.take(range(a, b), axis=axis).mean(axis=axis) for a, b in zip(low, high, strict=True)]
        out = np.stack(parts, axis=axis)
    return out


def shrink_grid(grid: tuple[int, ...], most: int) -> tuple[int, int]:
    """Return (rows, cols) with at most `most` on each side, in the proportions of the grid."""
    rows, cols = grid
    scale = min(1, most / max(rows, cols))
    return max(1, round(rows * scale)), max(1, round(cols * scale))


def reduce_grid(values: FloatArray) -> FloatArray:
    """Return (rows, cols, D) averaged to at most `MAX_SIDE` rows and columns."""
    grid = shrink_grid(values.shape[:2], MAX_SIDE)
    return values if grid == values.shape[:2] else resample_grid(values[None], grid)[0].astype(np.float32)


def colour_tokens(components: ColourDirections, tokens: FloatArray) -> Uint8:
    """Return the scores as red, green and blue, (..., D) -> (..., 3): grey is the mean, the range 2 std."""
    spread = np.where(components.spread > 1e-12, components.spread, 1.0)
    share = 0.5 + components.scores(tokens) / (2 * REACH * spread)
    return np.asarray(np.rint(255 * share.clip(0, 1)), np.uint8)


def explained_share(components: ColourDirections, tokens: FloatArray) -> float:
    """Return the share of the variance of tokens (n, D) that lies along the components; 0 without variance."""
    total = float(tokens.var(axis=0).sum())
    return float(components.scores(tokens).var(axis=0).sum()) / total if total > 0 else 0.0


def mean_correlation(before: FloatArray, current: FloatArray) -> float:
    """Return the mean correlation of the three components between two layers.

    Args:
        before, current: (n, 3) scores at the same places.
    """
    return float(np.diag(correlations(before, current)).mean())


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

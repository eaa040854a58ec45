"""Compute the attention pairs that Swin's windows and masks allow, and the leakage without a mask."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitviz import shifted_windows
from vitviz.analysis.attention import softmax
from vitviz.analysis.logits import layer_norm
from vitviz.shifted_windows import FloatArray, IntArray, Pair


@dataclass(frozen=True, eq=False)
class Layout:
    """A grid in windows, with a shift that is free to choose (a block of the paper uses M // 2).

    Attributes:
        grid: (rows, cols) of patches. window: M. shift: s, 0 to M - 1.
        ids: (rows, cols), region ids of the rolled grid.
        plain: (windows, M M), the patch in each slot without a shift.
        index: (windows, M M), the patch in each slot after the roll.
        mask: (windows, M M, M M), additive; zero everywhere without a shift.
    """

    grid: Pair
    window: int
    shift: int
    ids: IntArray
    plain: IntArray
    index: IntArray
    mask: FloatArray

    @property
    def masked_pairs(self) -> int:
        """Number of (query, key) pairs that the mask forbids."""
        return int((self.mask < 0).sum())

    def find_most_masked(self) -> int:
        """Return the first of the patches for which the mask forbids the most keys."""
        forbidden = (self.mask < 0).sum(axis=2)
        return int(self.index[forbidden == forbidden.max()].min())

    @property
    def masked_windows(self) -> int:
        """Number of windows that hold patches of more than one region."""
        return int((self.mask < 0).any(axis=(1, 2)).sum())


def create_layout(grid: Pair, window: int, shift: int) -> Layout:
    """Roll by (-shift, -shift), cut into windows, and mask what the roll brought together (Swin paper, fig. 4).

    Raises:
        ValueError: if the windows do not tile the grid, or the shift does not lie in 0 .. window - 1.
    """
    if not 0 <= shift < window:
        raise ValueError(f"shift must lie in 0 to {window - 1}, received {shift}")
    square = (window, window)
    ids = shifted_windows.region_ids(grid, square, (shift, shift))
    return Layout(
        grid=grid,
        window=window,
        shift=shift,
        ids=ids,
        plain=shifted_windows.partition(shifted_windows.shifted_index(grid, square, (0, 0)), square),
        index=shifted_windows.partition(shifted_windows.shifted_index(grid, square, (shift, shift)), square),
        mask=shifted_windows.attention_mask(ids, square),
    )


def colour_attention(image: NDArray[np.uint8], layout: Layout, masked: bool = True) -> FloatArray:
    """Return A = softmax(Q K^T / sqrt(d) + mask) with Q = K = standardised mean colours of the patches.

    An attention without weights to learn, for any grid: patches look at patches of a like colour.

    Args:
        image: (S, S, 3).
        masked: False leaves the mask out.

    Returns:
        (windows, M M, M M); rows sum to 1.
    """
    rows, cols = layout.grid
    tokens = mean_colours(image, rows, cols)
    tokens = (tokens - tokens.mean(axis=0)) / max(float(tokens.std()), 1e-6)
    inside = tokens[layout.index]
    scores = inside @ inside.swapaxes(1, 2) / np.sqrt(tokens.shape[1])
    if masked:
        scores = scores + layout.mask
    return softmax(scores).astype(np.float32)


@dataclass(frozen=True, eq=False)
class MaskComparison:
    """`colour_attention` with the mask and without, (windows, M M, M M), and `leaked_share` of the second."""

    masked: FloatArray
    unmasked: FloatArray
    leak: FloatArray


def compare_masks(image: NDArray[np.uint8], layout: Layout) -> MaskComparison:
    """Compare attention within windows with and without the mask."""
    unmasked = colour_attention(image, layout, masked=False)
    return MaskComparison(colour_attention(image, layout), unmasked, leaked_share(layout, unmasked))


def mean_colours(image: NDArray[np.uint8], rows: int, cols: int) -> NDArray[np.float64]:
    """Return the mean colour of every cell of a grid over an image (S, S, 3): (rows * cols, 3)."""
    height, width = image.shape[:2]
    row = np.arange(height) * rows // height
    col = np.arange(width) * cols // width
    cell = (row[:, None] * cols + col).ravel()
    count = np.maximum(np.bincount(cell, minlength=rows * cols), 1)
    sums = [
        np.bincount(cell, image[..., c].ravel().astype(np.float64), rows * cols)
        for c in range(image.shape[2])
    ]
    return np.stack(sums, axis=1) / count[:, None]


def leaked_share(layout: Layout, unmasked: FloatArray) -> FloatArray:
    """Return the share of each patch's attention that crosses the image's edge without the mask, (rows * cols,)."""
    lost = (unmasked * (layout.mask < 0)).sum(axis=-1)
    out = np.zeros(layout.grid[0] * layout.grid[1], np.float32)
    out[layout.index.ravel()] = lost.ravel()
    return out


ORDER = ((0, 0), (1, 0), (0, 1), (1, 1))  # (row, column) in a group of four, as merging concatenates them


@dataclass(frozen=True, eq=False)
class Merge:
    """One patch merging: its stage (from 0), the four tokens (row, col), the merged token, and their values.

    four: (4, C). normed, merged: (4 C,) and (2 C,).
    """

    stage: int
    four_at: tuple[Pair, ...]
    token: Pair
    four: FloatArray
    normed: FloatArray
    merged: FloatArray


def merge_at(
    before: FloatArray,
    after: FloatArray,
    stage: int,
    token: Pair,
    norm: tuple[FloatArray, FloatArray, float],
) -> Merge:
    """Return the group of four tokens that is merged into one.

    Args:
        before: (H, W, C), what leaves the stage before; a row or column that is missing is filled with zeros.
        after: (H / 2, W / 2, 2 C) rounded up, what enters the stage.
        stage: from 0.
        token: (row, col) in `after`.
        norm: weight, bias (4 C,) and epsilon of the LayerNorm.
    """
    rows, cols = before.shape[:2]
    padded = np.pad(before, ((0, rows % 2), (0, cols % 2), (0, 0)))
    row, col = token
    places = tuple((2 * row + down, 2 * col + across) for down, across in ORDER)
    four = np.stack([padded[place] for place in places])
    return Merge(
        stage, places, token, four, layer_norm(four.reshape(-1), *norm).astype(np.float32), after[row, col]
    )


def log_slope(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the least-squares slope of log y over log x: the power with which y grows."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])

"""Swin's window bookkeeping as plain arrays: one source for the model and for its lens (Liu et al. 2021)."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Convention = Literal["torchvision", "timm"]
Pair = tuple[int, int]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float32]

MASKED = (
    -100.0
)  # added to a score: as good as minus infinity after a softmax, and what the field's weights saw


def partition(grid: NDArray[Any], window: Pair) -> NDArray[Any]:
    """Cut a grid (H, W, ...) into windows (H W / (Mh Mw), Mh Mw, ...), both in reading order.

    Raises:
        ValueError: if the windows do not tile the grid.
    """
    (height, width), (mh, mw) = grid.shape[:2], window
    if height % mh or width % mw:
        raise ValueError(f"windows of {mh} x {mw} do not tile a grid of {height} x {width}")
    rest = grid.shape[2:]
    tiles = grid.reshape(height // mh, mh, width // mw, mw, *rest).swapaxes(1, 2)
    return tiles.reshape(-1, mh * mw, *rest)


def relative_position_index(window: Pair) -> IntArray:
    """Return the row of the bias table for every (query, key) of a window, (Mh Mw, Mh Mw).

    index = (dr + Mh - 1) (2 Mw - 1) + (dc + Mw - 1), with (dr, dc) = query - key, so the table has
    (2 Mh - 1)(2 Mw - 1) rows.
    """
    mh, mw = window
    row, col = np.divmod(np.arange(mh * mw), mw)
    return (row[:, None] - row + mh - 1) * (2 * mw - 1) + col[:, None] - col + mw - 1


def log_offsets(window: Pair, pretrained: int = 0) -> FloatArray:
    """Return the log-spaced offsets of a window's pairs, ((2 Mh - 1)(2 Mw - 1), 2): sign(d) log2(1 + |8 d|) / 3.

    Args:
        window: (rows, cols).
        pretrained: side of the windows before fine-tuning, by whose largest offset d is divided; 0: these windows'.
    """
    axes = [np.arange(1 - side, side) * 8 / max((pretrained or side) - 1, 1) for side in window]
    offsets = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    return np.asarray(np.sign(offsets) * np.log2(np.abs(offsets) + 1) / 3, np.float32)


def region_ids(grid: Pair, window: Pair, shift: Pair) -> IntArray:
    """Return which patches of a rolled grid were neighbours before the roll: ids 0 to 8, (H, W).

    The slices (0, -M), (-M, -s), (-s, end) of both axes; an axis that is not shifted has one region.
    """
    rows, cols = (_axis_regions(*axis) for axis in zip(grid, window, shift, strict=True))
    return 3 * rows[:, None] + cols[None, :]


def _axis_regions(length: int, window: int, shift: int) -> IntArray:
    position = np.arange(length)
    if not shift:
        return np.zeros(length, dtype=np.int64)
    return (position >= length - window).astype(np.int64) + (position >= length - shift)


def attention_mask(ids: IntArray, window: Pair) -> FloatArray:
    """Additive mask (windows, Mh Mw, Mh Mw): -100 where query and key come from different regions, else 0."""
    inside = partition(ids, window)
    return np.where(inside[:, :, None] != inside[:, None, :], MASKED, 0.0).astype(np.float32)


def padded_size(grid: Pair, window: Pair) -> Pair:
    """Return the next size that the windows tile."""
    return -(-grid[0] // window[0]) * window[0], -(-grid[1] // window[1]) * window[1]


def shifted_index(grid: Pair, window: Pair, shift: Pair, convention: Convention = "torchvision") -> IntArray:
    """Reading-order index of the patch that each cell holds after padding and the cyclic shift; -1: padding.

    torchvision pads to whole windows and then rolls; timm rolls and then pads. They are the same where
    the windows tile the grid.

    Returns:
        (padded rows, padded cols).
    """
    patches = np.arange(grid[0] * grid[1]).reshape(grid)
    padded = padded_size(grid, window)
    padding = ((0, padded[0] - grid[0]), (0, padded[1] - grid[1]))
    roll = (-shift[0], -shift[1])
    if convention == "torchvision":
        return np.roll(np.pad(patches, padding, constant_values=-1), roll, axis=(0, 1))
    return np.pad(np.roll(patches, roll, axis=(0, 1)), padding, constant_values=-1)


def effective_window(
    grid: Pair, native_grid: Pair, window_size: int, shifted: bool, convention: Convention = "torchvision"
) -> tuple[Pair, Pair]:
    """Return the window and the shift that a block really uses, per axis.

    torchvision keeps the window and drops the shift on an axis that one window covers. timm shrinks the
    window to the grid that the model was built for, and drops the shift where one window covers that grid.

    Args:
        grid: (rows, cols) of the stage for this image.
        native_grid: (rows, cols) of the stage for the model's own image size.
        window_size: M of the config.
        shifted: True for the odd blocks of a stage.
        convention: whose.
    """
    shift = window_size // 2 if shifted else 0
    if convention == "torchvision":
        window = (window_size, window_size)
        covered = [side <= window_size for side in grid]
    else:
        window = (min(native_grid[0], window_size), min(native_grid[1], window_size))
        covered = [side <= window_size for side in native_grid]
    return window, (0 if covered[0] else shift, 0 if covered[1] else shift)


@dataclass(frozen=True, eq=False)
class WindowPlan:
    """The window and slot of every patch of a grid in one block, after shift, padding, partition and mask.

    Attributes:
        window, shift: (rows, cols) that the block really uses.
        padded: (rows, cols) of the grid after padding.
        ids: region ids of the rolled grid, (padded rows, padded cols).
        index: (windows, Mh Mw), the patch in each window slot, -1 for padding.
        inverse: (rows * cols,), the slot of each patch in the flattened windows.
        mask: (windows, Mh Mw, Mh Mw) additive, or None without a shift.
    """

    window: Pair
    shift: Pair
    padded: Pair
    ids: IntArray
    index: IntArray
    inverse: IntArray
    mask: FloatArray | None


@lru_cache(maxsize=256)
def plan(
    grid: Pair, native_grid: Pair, window_size: int, shifted: bool, convention: Convention = "torchvision"
) -> WindowPlan:
    """Return the bookkeeping of one block; arguments as in `effective_window`. Arrays are shared: do not write."""
    window, shift = effective_window(grid, native_grid, window_size, shifted, convention)
    padded = padded_size(grid, window)
    ids = region_ids(padded, window, shift)
    index = partition(shifted_index(grid, window, shift, convention), window)
    slots = index.reshape(-1)
    inverse = np.empty(grid[0] * grid[1], dtype=np.int64)
    inverse[slots[slots >= 0]] = np.flatnonzero(slots >= 0)
    mask = attention_mask(ids, window) if any(shift) else None
    for array in (ids, index, inverse, mask):
        if array is not None:
            array.setflags(write=False)
    return WindowPlan(
        window=window, shift=shift, padded=padded, ids=ids, index=index, inverse=inverse, mask=mask
    )


def global_attention_cost(rows: int, cols: int, dim: int) -> int:
    """Return the multiply-adds of global attention, 4 h w C^2 + 2 (h w)^2 C (Swin paper, eq. 1)."""
    return 4 * rows * cols * dim**2 + 2 * (rows * cols) ** 2 * dim


def window_attention_cost(rows: int, cols: int, dim: int, window_size: int) -> int:
    """Return the multiply-adds of attention in windows, 4 h w C^2 + 2 M^2 h w C (Swin paper, eq. 2)."""
    return 4 * rows * cols * dim**2 + 2 * window_size**2 * rows * cols * dim

"""Swin's window bookkeeping on numbers that are known, and the properties that hold for every grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vitviz import shifted_windows

SIDES = st.integers(1, 12)


def test_region_ids_of_the_smallest_case() -> None:
    """Counted by hand: H = 4, M = 2, s = 1."""
    ids = shifted_windows.region_ids((4, 4), (2, 2), (1, 1))
    assert ids.tolist() == [[0, 0, 1, 2], [0, 0, 1, 2], [3, 3, 4, 5], [6, 6, 7, 8]]


@pytest.mark.parametrize(
    ("side", "window", "shift", "masked", "pairs", "touched", "count"),
    [
        (4, 2, 1, 28, 64, 3, 4),
        (56, 7, 3, 18_240, 153_664, 15, 64),
        (14, 7, 3, 4_128, 9_604, 3, 4),
        (8, 4, 2, 448, 1_024, 3, 4),
    ],
)
def test_masked_pairs(
    side: int, window: int, shift: int, masked: int, pairs: int, touched: int, count: int
) -> None:
    """Counted independently from the slices (0, -M), (-M, -s), (-s, end); the last by hand: 3 of 4 windows."""
    plan = shifted_windows.plan((side, side), (side, side), window, True)
    assert plan.shift == (shift, shift)
    assert plan.mask is not None
    assert plan.mask.size == pairs
    assert int((plan.mask < 0).sum()) == masked
    assert len(plan.mask) == count
    assert int((plan.mask < 0).any(axis=(1, 2)).sum()) == touched


def test_relative_positions_by_hand() -> None:
    index = shifted_windows.relative_position_index((2, 2))
    assert index.tolist() == [[4, 3, 1, 0], [5, 4, 2, 1], [7, 6, 4, 3], [8, 7, 5, 4]]
    assert shifted_windows.relative_position_index((7, 7)).max() + 1 == 169  # Swin paper: (2M - 1)^2
    assert len(np.unique(shifted_windows.relative_position_index((3, 5)))) == 5 * 9


def test_costs_are_the_papers_equations() -> None:
    """Swin paper, eq. 1 and 2, at stage 1 of Swin-T: 56 x 56 tokens of width 96, windows of 7."""
    assert shifted_windows.global_attention_cost(56, 56, 96) == 4 * 3136 * 9216 + 2 * 3136**2 * 96
    assert shifted_windows.window_attention_cost(56, 56, 96, 7) == 4 * 3136 * 9216 + 2 * 49 * 3136 * 96


@given(SIDES, SIDES, st.integers(1, 6), st.booleans(), st.sampled_from(["torchvision", "timm"]))
@settings(max_examples=80, deadline=None)
def test_every_patch_has_one_slot_and_the_way_back(
    rows: int, cols: int, window: int, shifted: bool, convention: shifted_windows.Convention
) -> None:
    plan = shifted_windows.plan((rows, cols), (rows, cols), window, shifted, convention)
    slots = plan.index.reshape(-1)
    assert sorted(slots[slots >= 0]) == list(range(rows * cols))
    assert slots[plan.inverse].tolist() == list(range(rows * cols))
    assert slots.size == plan.padded[0] * plan.padded[1]
    assert (plan.mask is None) == (not any(plan.shift))


@given(st.integers(2, 5), st.integers(2, 4), st.integers(2, 4))
@settings(max_examples=30, deadline=None)
def test_unmasked_pairs_were_neighbours_before_the_roll(window: int, down: int, across: int) -> None:
    """Inside a window of a tiled grid, two patches may look at each other only if no wrap lies between them."""
    rows, cols = window * down, window * across
    plan = shifted_windows.plan((rows, cols), (rows, cols), window, True)
    assert plan.mask is not None
    row, col = np.divmod(plan.index, cols)
    for place, limit in ((row, window), (col, window)):
        far = np.abs(place[:, :, None] - place[:, None, :]) >= limit
        assert (plan.mask[far] < 0).all()
    near = (np.abs(row[:, :, None] - row[:, None]) < window) & (
        np.abs(col[:, :, None] - col[:, None]) < window
    )
    wrapped = plan.mask < 0
    if down > 2 and across > 2:  # with two windows a wrapped patch can also be close by
        assert not (near & wrapped).any()


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_partition_cuts_windows_in_reading_order(mh: int, mw: int, down: int, across: int) -> None:
    grid = np.arange(mh * down * mw * across * 2).reshape(mh * down, mw * across, 2)
    cut = shifted_windows.partition(grid, (mh, mw))
    assert cut.shape == (down * across, mh * mw, 2)
    for window in range(down * across):
        top, left = window // across * mh, window % across * mw
        assert np.array_equal(cut[window], grid[top : top + mh, left : left + mw].reshape(-1, 2))


def test_conventions_differ_only_where_windows_do_not_tile() -> None:
    assert np.array_equal(
        shifted_windows.shifted_index((8, 8), (4, 4), (2, 2), "torchvision"),
        shifted_windows.shifted_index((8, 8), (4, 4), (2, 2), "timm"),
    )
    first = shifted_windows.shifted_index((6, 6), (4, 4), (2, 2), "torchvision")
    assert first.shape == (8, 8)
    assert not np.array_equal(first, shifted_windows.shifted_index((6, 6), (4, 4), (2, 2), "timm"))
    assert shifted_windows.effective_window((3, 9), (3, 9), 4, True, "torchvision") == ((4, 4), (0, 2))
    assert shifted_windows.effective_window((3, 9), (3, 9), 4, True, "timm") == ((3, 4), (0, 2))


def test_windows_that_do_not_tile_are_refused() -> None:
    with pytest.raises(ValueError, match="windows of 3 x 3 do not tile a grid of 4 x 6"):
        shifted_windows.partition(np.zeros((4, 6)), (3, 3))

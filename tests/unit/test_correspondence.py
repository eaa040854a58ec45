"""Matching patches of two images, by hand and against NumPy written out."""

import numpy as np
import pytest

from vitviz.analysis.image_changes import COPIES, copy_image, locate_cells
from vitviz.analysis.token_similarity import (
    Matches,
    cosines_between,
    find_mutual_neighbours,
    share_at_true_place,
    spread_matches,
)


@pytest.mark.parametrize("without_mean", [False, True])
def test_cosines_equal_a_loop_over_all_pairs(without_mean: bool) -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(1, 1, (6, 5)), rng.normal(1, 1, (4, 5))
    mean = sum([*first, *second]) / 10 if without_mean else np.zeros(5)
    expected = [
        [(a - mean) @ (b - mean) / np.sqrt(((a - mean) ** 2).sum() * ((b - mean) ** 2).sum()) for b in second]
        for a in first
    ]
    np.testing.assert_allclose(
        cosines_between(first, second, without_mean=without_mean), expected, atol=1e-12
    )


def test_masked_patches_neither_match_nor_take_a_match_away() -> None:
    cosines = np.array([[0.7, 0.1, 0.2], [0.9, 0.3, 0.0], [0.1, 0.2, 0.95]])
    matches = find_mutual_neighbours(cosines, np.array([True, False, True]), np.array([True, True, False]))
    assert list(zip(matches.first, matches.second, strict=True)) == [(0, 0), (2, 1)]
    assert len(find_mutual_neighbours(cosines, np.zeros(3, bool), None)) == 0


def test_mutual_neighbours_equal_a_search_of_all_pairs() -> None:
    cosines = np.random.default_rng(1).uniform(-1, 1, (9, 7))
    expected = {
        (i, j)
        for i in range(9)
        for j in range(7)
        if cosines[i, j] == max(cosines[i]) and cosines[i, j] == max(cosines[:, j])
    }
    matches = find_mutual_neighbours(cosines)
    assert set(zip(matches.first.tolist(), matches.second.tolist(), strict=True)) == expected
    assert matches.cosines.tolist() == cosines[matches.first, matches.second].tolist()
    assert (np.diff(matches.cosines) <= 0).all()


def test_pairs_whose_lines_do_not_lie_on_stronger_ones_come_first() -> None:
    """In 16 rows, the second pair is one row from the first, and the fourth ends in the first one's row."""
    first, second = np.array([0, 1, 4, 8, 12]), np.array([3, 9, 5, 3, 0])
    spread, count = spread_matches(Matches(first, second, np.linspace(0.9, 0.5, 5)), (16, 1), (16, 1))
    assert count == 3
    assert spread.first.tolist() == [0, 4, 12, 1, 8]
    assert spread.second.tolist() == [3, 5, 0, 9, 3]
    assert spread.cosines.tolist() == pytest.approx([0.9, 0.7, 0.5, 0.8, 0.6])


@pytest.mark.parametrize("grid", [(8, 8), (10, 8)])
@pytest.mark.parametrize("kind", COPIES)
def test_a_cell_of_the_original_is_where_locate_cells_says(kind: str, grid: tuple[int, int]) -> None:
    (rows, cols), cell_px = grid, 6
    true = locate_cells(kind, grid)
    for cell, place in enumerate(true):
        row, col = divmod(cell, cols)
        image = np.zeros((rows * cell_px, cols * cell_px, 3), np.uint8)
        image[row * cell_px + 2 : row * cell_px + 4, col * cell_px + 2 : col * cell_px + 4] = 255
        copy = copy_image(image, kind)[..., 0].astype(int)
        if place < 0:
            assert copy.max() < 128
            continue
        # The spot lies in its cell; enlarged, its ends may reach the next one.
        found = divmod(int(copy.argmax()), cols * cell_px)
        assert abs(found[0] // cell_px - place // cols) <= (kind == "crop")
        assert abs(found[1] // cell_px - place % cols) <= (kind == "crop")


def test_true_places_by_hand() -> None:
    assert locate_cells("flip", (1, 4)).tolist() == [3, 2, 1, 0]
    assert locate_cells("shift", (1, 4)).tolist() == [1, 2, 3, -1]
    assert locate_cells("crop", (3, 3)).tolist() == [-1, -1, -1, -1, 4, -1, -1, -1, -1]
    with pytest.raises(KeyError):
        locate_cells("turn", (2, 2))


def test_the_share_at_the_true_place_allows_one_cell() -> None:
    # In a row of four, 0 finds its place, 1 the next but one, 2 the next one; 3 lies outside.
    cosines = np.eye(4)[[3, 0, 0, 0]]
    true = np.array([3, 2, 1, -1])
    assert share_at_true_place(cosines, true, (1, 4)) == pytest.approx(2 / 3)

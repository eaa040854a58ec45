"""How alike tokens are, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from vitviz.analysis import token_similarity as s


def test_cosines_by_hand() -> None:
    places = np.array([[3.0, 0.0], [0.0, 5.0], [1.0, 1.0], [0.0, 0.0]])
    found = s.token_cosines(places, places, without_mean=False)
    half = np.sqrt(0.5)
    expected = [[1, 0, half, 0], [0, 1, half, 0], [half, half, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_what_all_share_is_taken_away_from_both() -> None:
    places = np.array([[101.0, 100.0], [99.0, 100.0]])
    assert s.token_cosines(places, places, without_mean=False).min() > 0.999
    np.testing.assert_allclose(
        s.token_cosines(places, places, without_mean=True), [[1, -1], [-1, 1]], atol=1e-9
    )
    asked = np.array([[105.0, 100.0]])
    np.testing.assert_allclose(s.token_cosines(asked, places, without_mean=True), [[1, -1]], atol=1e-9)


def test_touching_places_of_a_grid() -> None:
    near = s.neighbour_mask((2, 3))
    assert near[0].tolist() == [False, True, False, True, True, False]
    assert (near == near.T).all() and not near.diagonal().any()


def test_the_lead_of_neighbours() -> None:
    grid = (1, 4)
    similarity = np.where(s.neighbour_mask(grid), 0.8, 0.1)
    np.fill_diagonal(similarity, 1)
    assert s.neighbour_contrast(similarity, grid) == pytest.approx(0.7)
    assert s.neighbour_contrast(np.ones((4, 4)), (2, 2)) == 0  # every place touches every other

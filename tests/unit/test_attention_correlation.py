"""How alike two maps are, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from vitviz.analysis.attention import rank_correlation, shared_mass


def test_rank_correlation_of_known_orders() -> None:
    a = np.array([1.0, 5, 2, 9])
    assert rank_correlation(a, a**3) == pytest.approx(1)
    assert rank_correlation(a, -a) == pytest.approx(-1)
    assert rank_correlation(a, np.ones(4)) == 0
    # Ties share their mean rank: ranks 0.5, 0.5, 2 against 0, 1, 2.
    assert rank_correlation(np.array([1.0, 1, 2]), np.array([1.0, 2, 3])) == pytest.approx(3**0.5 / 2)


def test_shared_mass_of_rows_that_sum_to_one() -> None:
    rows = np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]])
    assert shared_mass(rows[0], rows[1]) == pytest.approx(0.25)
    assert shared_mass(rows, rows) == pytest.approx([1.0, 1.0])
    assert shared_mass(rows, np.array([[0.25, 0.25, 0.5], [0.0, 0.0, 1.0]])) == pytest.approx([0.5, 0.75])


def test_shared_mass_of_rows_that_hold_more_or_less() -> None:
    """The patches' part of a row of attention sums to less than 1."""
    assert shared_mass(np.array([1.0, 3.0]), np.array([2.0, 6.0])) == pytest.approx(1)
    assert shared_mass(np.array([1.0, 0.0]), np.array([0.0, 2.0])) == 0
    assert shared_mass(np.array([1.0, 1.0]), np.array([1.0, 0.0])) == pytest.approx(0.5)
    assert shared_mass(np.zeros(2), np.array([1.0, 1.0])) == 0

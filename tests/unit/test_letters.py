"""Drawn letters as a zip: a set that is split already, the same for the same seed."""

from __future__ import annotations

import numpy as np

from vitviz.data.dataset_zip import load_zip
from vitviz.data.letters import LETTERS, TEST, TRAIN, draw_letter, letters_zip


def test_the_zip_is_a_set_whose_test_images_are_apart() -> None:
    found = load_zip(letters_zip())
    data = found.dataset
    assert found.skipped == () and data.classes == LETTERS
    assert np.bincount(data.labels_of("train")).tolist() == [TRAIN] * 3
    assert np.bincount(data.labels_of("test")).tolist() == [TEST] * 3


def test_the_same_seed_draws_the_same_letters() -> None:
    one, again, other = (draw_letter("K", np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert one.shape == (32, 32, 3) and np.array_equal(one, again) and not np.array_equal(one, other)
    assert one.max() > 200 and one[0, 0].max() == 0  # white on black

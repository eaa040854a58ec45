"""Changes of an image, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from vitviz.analysis import image_changes
from vitviz.analysis.image_changes import (
    CHANGES,
    ChangeSetting,
    apply_all_strengths,
    apply_change,
    find_unchanged_range,
)
from vitviz.experiments.robustness import STRENGTHS

SIDE = 8
RAMP = np.broadcast_to(np.arange(0, 240, 30, dtype=np.uint8)[None, :, None], (SIDE, SIDE, 3)).copy()


def make_image(side: int = SIDE) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8)


@pytest.mark.parametrize("name", CHANGES)
def test_the_neutral_strength_is_the_image_itself(name: str) -> None:
    change = CHANGES[name]
    own = make_image()
    assert apply_change(own, name, change.neutral) is own
    assert change.values[change.start] == change.neutral
    assert list(change.values) == sorted(set(change.values))


@pytest.mark.parametrize("name", CHANGES)
def test_the_strongest_changes_it_and_the_original_is_left_alone(name: str) -> None:
    own = make_image()
    before = own.copy()
    found = apply_all_strengths(own, name, ChangeSetting(pieces=(1, 0, *range(2, 16))))
    assert found.shape == (len(CHANGES[name].values), *own.shape) and found.dtype == np.uint8
    assert not np.array_equal(found[-1], own) and np.array_equal(found[CHANGES[name].start], own)
    assert np.array_equal(own, before)


def test_a_shift_moves_columns_and_fills_with_the_borders_colour() -> None:
    moved = image_changes.shift(RAMP, 2)
    border = round(float(image_changes.border_colour(RAMP)[0]))
    assert moved[0, :, 0].tolist() == [border, border, 0, 30, 60, 90, 120, 150]
    assert image_changes.shift(RAMP, -7)[0, :, 0].tolist() == [210] + [border] * 7


def test_the_borders_colour_counts_every_outer_pixel_once() -> None:
    own = np.zeros((3, 3, 3), np.uint8)
    own[1, 1], own[0, 0] = 255, 80
    assert image_changes.border_colour(own).tolist() == [10.0] * 3


def test_four_quarter_turns_are_none_and_one_is_clockwise() -> None:
    own = make_image()
    assert np.array_equal(image_changes.rotate(own, 360), own)
    assert np.array_equal(image_changes.rotate(own, 90)[0, -1], own[0, 0])
    assert np.array_equal(image_changes.rotate(image_changes.rotate(own, 90), -90), own)


def test_a_small_turn_agrees_with_the_quarter_turns_direction() -> None:
    own = np.zeros((9, 9, 3), np.uint8)
    own[0, 4] = 255  # above the middle
    turned = image_changes.rotate(own, 45)[..., 0]
    row, col = np.unravel_index(turned.argmax(), turned.shape)
    assert row < 4 < col, "clockwise: to the upper right"


def test_zoom_by_two_halves_the_images_frequency() -> None:
    own = np.zeros((4, 4, 3), np.uint8)
    own[1:3, 1:3] = 200
    grown = image_changes.zoom(own, 2)[..., 0]
    # Places lie at (0.75, 1.25, 1.75, 2.25): a quarter of a dark pixel beside the edge.
    assert grown[1].tolist() == [150, 200, 200, 150] and grown[0, 1] == 150
    assert image_changes.zoom(own, 0.5)[0, 0].tolist() == [0, 0, 0]


def test_blur_keeps_a_flat_image_and_the_sum_of_a_spot() -> None:
    flat = np.full((SIDE, SIDE, 3), 77, np.uint8)
    assert np.array_equal(image_changes.blur(flat, 3), flat)
    spot = np.zeros((21, 21, 3), np.uint8)
    spot[10, 10] = 250
    assert image_changes.blur(spot, 1)[10, 10, 0] == round(250 / (2 * np.pi))


def test_light_and_contrast_are_cut_at_the_ends() -> None:
    own = np.full((4, 4, 3), 100, np.uint8)
    assert apply_change(own, "brightness", 0.75)[0, 0, 0] == 255
    assert apply_change(own, "brightness", -0.25)[0, 0, 0] == 36
    own[0] = 200  # mean 125
    flat = image_changes.contrast(own, 0)
    assert flat[0, 0, 0] == flat[1, 0, 0] == 125
    assert image_changes.contrast(own, 0.5)[0, 0, 0] == 162


def test_a_cover_lies_about_its_place_and_is_cut_at_the_edge() -> None:
    own = make_image()
    hidden = (image_changes.cover(own, 4, (0.5, 0.5)) != own).any(axis=-1)
    assert hidden[2:6, 2:6].all() and hidden.sum() == 16
    corner = (image_changes.cover(own, 4, (0.0, 1.0)) != own).any(axis=-1)
    assert corner.sum() == corner[6:, :2].sum() == 4


def test_a_shuffle_keeps_the_multiset_of_patches_and_a_larger_share_moves_more() -> None:
    own = make_image(16)
    some, most = (image_changes.shuffle(own, share, 3) for share in (0.25, 1.0))
    patches = [sorted(p.tobytes() for p in _patches(one, 4)) for one in (own, some, most)]
    assert patches[0] == patches[1] == patches[2]
    moved = [
        sum(not np.array_equal(a, b) for a, b in zip(_patches(own, 4), _patches(one, 4), strict=True))
        for one in (some, most)
    ]
    assert moved == [4, 16]


def test_pieces_lie_where_they_were_put() -> None:
    own = make_image()
    pieces = (15, *range(1, 15), 0)
    found = apply_change(own, "pieces", 1.0, ChangeSetting(pieces=pieces))
    assert np.array_equal(found[:2, :2], own[-2:, -2:]) and np.array_equal(found[:2, 2:], own[:2, 2:])
    with pytest.raises(ValueError, match="permutation"):
        apply_change(own, "pieces", 1.0, ChangeSetting(pieces=(0,) * 16))


def test_an_image_that_has_no_four_pieces_a_side_is_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 4"):
        apply_change(make_image(10), "shift", 1)


def test_an_answer_is_kept_until_it_first_changes_on_either_side() -> None:
    answers = np.array([1, 2, 2, 2, 3, 2])
    assert find_unchanged_range(answers, 2) == (1, 3)
    assert find_unchanged_range(np.zeros(5, int), 0) == (0, 4)
    assert find_unchanged_range(np.array([0, 1]), 0) == (0, 0)


def test_the_strengths_that_are_stored_lie_on_the_sliders() -> None:
    for name, values in STRENGTHS.items():
        assert CHANGES[name].values[0] <= min(values) and max(values) == CHANGES[name].values[-1], name
        assert CHANGES[name].neutral not in values


def _patches(own: np.ndarray, px: int) -> list[np.ndarray]:
    return [
        own[r : r + px, c : c + px] for r in range(0, own.shape[0], px) for c in range(0, own.shape[1], px)
    ]

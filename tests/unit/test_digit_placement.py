"""Drawn and photographed digits as their models' training sets would have them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from vitviz.data.datasets import load_dataset
from vitviz.data.digit_placement import centre_digit


def drawing(dark_on_light: bool = False) -> np.ndarray:
    """A 40 x 20 stroke in a corner of a 200 x 280 canvas."""
    grey = np.zeros((200, 280), np.uint8)
    grey[10:50, 5:25] = 230
    return 255 - grey if dark_on_light else grey


def test_a_drawn_digit_is_placed_as_mnists_were():
    digit = centre_digit(drawing(), 28)
    rows, cols = np.flatnonzero(digit.max(1)), np.flatnonzero(digit.max(0))
    assert (len(rows), len(cols)) == (20, 10)  # 40 x 20 fitted to 20 x 20
    assert (rows[0], cols[0]) == (4, 9) and digit.max() == 255  # its centre at 14, 14


def test_ink_is_light_whatever_it_was_drawn_with():
    np.testing.assert_array_equal(centre_digit(drawing(), 28), centre_digit(drawing(dark_on_light=True), 28))


def test_ink_may_be_darker_than_a_middle_grey():
    grey = np.full((60, 60), 100, np.uint8)
    grey[20:40, 25:35] = 10
    digit = centre_digit(grey, 28)
    assert digit[14, 14] == 255 and not digit[0].any()


def test_wide_digits_are_squeezed_as_scikit_learns_were():
    grey = np.zeros((100, 300), np.uint8)
    grey[20:60, 40:200] = 200
    digit = centre_digit(grey, 32)
    assert digit[:, 16].min() == 255 and digit[:, 6:26].min() > 200 and digit[:, [0, 1, 30, 31]].max() < 40


def test_the_centre_of_mass_and_not_of_the_box_is_centred():
    grey = np.zeros((100, 100), np.uint8)
    grey[20:60, 20:30] = 255  # an upright and, at its foot, a bar: an L
    grey[50:60, 20:60] = 255
    digit = centre_digit(grey, 28).astype(float)
    for axis in (0, 1):
        profile = digit.sum(axis=1 - axis)
        assert abs((profile * (np.arange(28) + 0.5)).sum() / profile.sum() - 14) <= 0.5


@pytest.mark.parametrize("level", [0, 128, 255])
def test_an_empty_canvas_is_black(level):
    for size in (28, 32):
        assert not centre_digit(np.full((50, 60), level, np.uint8), size).any()


def test_specks_of_compression_are_no_ink():
    grey = np.where(np.indices((90, 90)).sum(0) % 2, 240, 250).astype(np.uint8)
    grey[40:60, 40:60] = 20
    assert np.count_nonzero(centre_digit(grey, 28)) == 400  # the square alone, 20 x 20


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1), st.sampled_from([28, 32]))
def test_any_scribble_fits(height, width, seed, size):
    grey = np.random.default_rng(seed).integers(0, 256, (height, width), dtype=np.uint8)
    digit = centre_digit(grey, size)
    assert digit.shape == (size, size) and digit.dtype == np.uint8


def test_a_digits_image_drawn_large_comes_back_nearly_the_same():
    digits = load_dataset("digits")
    mask = np.kron(digits.test_images[:20, ..., 0], np.ones((8, 8), np.uint8))
    framed = np.pad(mask, ((0, 0), (60, 60), (60, 60)))
    drawn = np.stack([centre_digit(image, 32) for image in framed]).astype(float)
    original = digits.test_images[:20, ..., 0].astype(float)
    likeness = [np.corrcoef(a.ravel(), b.ravel())[0, 1] for a, b in zip(drawn, original, strict=True)]
    assert min(likeness) > 0.75 and np.mean(likeness) > 0.9


HEIGHT, WIDTH = 450, 600
DOWN, ACROSS = np.mgrid[0:HEIGHT, 0:WIDTH]


def stroked() -> np.ndarray:
    """A 7 in pen, (H, W) in [0, 1], away from the middle of a sheet."""
    sheet = Image.new("L", (WIDTH, HEIGHT))
    ImageDraw.Draw(sheet).line([(330, 90), (440, 90), (370, 260)], fill=255, width=16, joint="curve")
    return np.asarray(sheet) / 255.0


def under(light: np.ndarray | float, rules: bool = False, chalk: bool = False) -> np.ndarray:
    """A photograph (H, W) of the 7 on paper, or on a board, with a camera's noise."""
    paper = np.full((HEIGHT, WIDTH), 220.0) * light
    if rules:
        paper[20::45] *= 0.8
    pen = paper * 0.25 if not chalk else paper + 120
    noise = np.random.default_rng(1).normal(0, 5, paper.shape)
    photo = np.where(stroked() > 0.5, pen, paper) + noise
    return np.clip(photo, 0, 255).astype(np.uint8)


FALLING = 1 - 0.5 * (ACROSS / WIDTH + DOWN / HEIGHT) / 2
SHADED = np.where(ACROSS + 0.4 * DOWN > 520, 0.6, 1.0)
ON_A_TABLE = np.where(ACROSS + 0.05 * DOWN > 560, 0.3, 1.0) * FALLING


@pytest.mark.parametrize(
    "photo",
    [
        pytest.param(under(1.0), id="even light"),
        pytest.param(under(FALLING), id="falling light"),
        pytest.param(under(FALLING * 0.4), id="dim"),
        pytest.param(under(SHADED), id="a shadow"),
        pytest.param(under(ON_A_TABLE), id="the table beside it"),
        pytest.param(under(1.0, rules=True), id="ruled paper"),
        pytest.param(under(FALLING * 0.3, chalk=True), id="chalk on a board"),
    ],
)
@pytest.mark.parametrize("size", [28, 32])
def test_a_photographed_digit_is_what_was_drawn(photo, size):
    drawn = centre_digit((255 * stroked()).astype(np.uint8), size)
    taken = centre_digit(photo, size)
    # where the digit's middle lies between two pixels, a trace of noise decides
    shifts = [np.roll(taken, (down, across), (0, 1)) for down in (-1, 0, 1) for across in (-1, 0, 1)]
    assert max(np.corrcoef(drawn.ravel(), one.ravel())[0, 1] for one in shifts) > 0.95


def test_a_data_sets_image_keeps_strokes_that_touch_its_edge() -> None:
    """scikit-learn's digits fill their frame: taken for photographs they lost what the edge cuts."""
    for image in load_dataset("digits").test_images[:60]:
        grey = np.ascontiguousarray(image[..., 0])
        rows, cols = np.nonzero(grey >= 16)  # light on black
        wanted = 20 * np.array([np.ptp(rows) + 1, np.ptp(cols) + 1]) / (np.ptp(rows) + 1)
        shown = np.nonzero(centre_digit(grey, 28))
        assert np.abs([np.ptp(shown[0]) + 1, np.ptp(shown[1]) + 1] - wanted).max() <= 1.5

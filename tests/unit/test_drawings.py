"""Check drawings: strokes as text, their image, and the square that a model sees."""

from __future__ import annotations

import numpy as np
import pytest

from tests.strokes import encode_strokes
from vitviz.classes.shared_view import build_shared_view
from vitviz.config import Preparation
from vitviz.data import drawings
from vitviz.data.image_preprocessing import prepare
from vitviz.models.presets import PRESETS

MNIST = Preparation(image_size=28, mean=(0.0,), std=(1.0,), digit=True)


def test_strokes_survive_their_text() -> None:
    draw = np.random.default_rng(0)
    strokes = [draw.integers(0, drawings.GRID, (count, 2)) for count in (1, 2, 40)]
    text = encode_strokes(strokes)
    assert drawings.is_drawing(text) and len(text) == 3 * 43 + 2
    for stroke, parsed in zip(strokes, drawings.parse_strokes(text), strict=True):
        np.testing.assert_array_equal(parsed, stroke)


@pytest.mark.parametrize("text", ["a", "abcd", "abc.", ".abc", "ab!", "abc\n", "a" * 963])
def test_malformed_strokes_are_refused(text: str) -> None:
    assert not drawings.is_drawing(text)
    with pytest.raises(ValueError, match="three characters a point"):
        drawings.draw_strokes(text)


def test_a_stroke_is_drawn_where_it_was_made_and_an_empty_pad_is_black() -> None:
    image = drawings.draw_strokes(encode_strokes([np.array([[128, 128], [384, 128]])]))
    rows, cols = np.nonzero(image[..., 0] > 127)
    scale = drawings.SIDE_PX / drawings.GRID
    assert abs(rows.mean() - 128 * scale) < 1 and abs(np.ptp(rows) - drawings.INK * scale) < 3
    assert abs(cols.min() - (128 - drawings.INK / 2) * scale) < 2
    assert drawings.draw_strokes("").shape == (224, 224, 3) and not drawings.draw_strokes("").any()


@pytest.mark.parametrize(
    "text", [drawings.FIRST, encode_strokes([np.array([[60, 90], [200, 400], [90, 300]])])]
)
def test_the_frame_is_the_square_that_the_model_sees(text: str) -> None:
    image = drawings.draw_strokes(text)
    frame = drawings.find_frame(text, MNIST)
    assert frame is not None
    left, top, side = (round(value * drawings.SIDE_PX) for value in frame)
    padded = np.pad(image[..., 0], drawings.SIDE_PX)
    cut = padded[drawings.SIDE_PX + top :, drawings.SIDE_PX + left :][:side, :side]
    seen = prepare(np.repeat(cut[..., None], 3, axis=2), Preparation(28, (0.0,), (1.0,))).shown[..., 0]
    shown = prepare(image, MNIST).shown[..., 0]
    assert np.corrcoef(seen.ravel(), shown.ravel())[0, 1] > 0.97


def test_a_stretched_digit_and_an_empty_pad_have_no_frame_and_a_photo_model_sees_it_all() -> None:
    assert drawings.find_frame(drawings.FIRST, PRESETS["vit_digits"].preparation) is None
    assert drawings.find_frame("", MNIST) is None
    assert drawings.find_frame(drawings.FIRST, PRESETS["vit_cifar10"].preparation) == (0, 0, 1)


def test_a_class_sees_the_teacher_s_drawing() -> None:
    longest = ".".join(["AAAAgA"] * 137)  # as long as a drawing may be
    assert drawings.is_drawing(longest) and len(longest) > 950
    for strokes in (drawings.FIRST, longest):
        query = {
            "model": "checkpoint:mnist_vit",
            "step": "11813",
            "image": f"drawing:{strokes}",
            "pin": "0.5,0.5",
        }
        assert build_shared_view("home", query, {}, frozenset()).query["image"] == query["image"]

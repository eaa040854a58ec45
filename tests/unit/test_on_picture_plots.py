"""What travels of a changed image."""

from __future__ import annotations

import numpy as np
import pytest

from tests.messages import unpack
from vitviz.plots.image_changes import (
    NOISE_CODES,
    Answered,
    Changed,
    Start,
    StoredCurves,
    payload,
    strength_words,
)
from vitviz.plots.photo import encode_photo

FRAMES = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)


def test_the_whole_slider_travels_with_every_models_own_scale() -> None:
    chances = np.array([[0.75, 0.25], [0.25, 0.75]])
    views = np.array([[[0.0, 1.0]], [[2.0, 0.5]]])
    noise = np.full((4, 4, 3), 0.5)
    header, arrays = unpack(
        payload(
            Changed("noise", "Noise", (0.0, 0.2), 0, FRAMES, (1, 2, 3), np.array([[0, 1]]), noise),
            [
                Answered("a", "cnn", "gradient", chances, views),
                Answered("b", "vit", "attention", chances, 0 * views),
            ],
            encode_photo(np.zeros((8, 8, 3), np.uint8)),
            ("cat", "dog"),
            Start({"at": 1}, 7, -1, True),
            StoredCurves(np.array([0.0, 1.0]), np.array([[0.9, 0.5], [0.8, np.nan]]), 1000),
        )
    )
    assert header["words"] == ["0\N{NO-BREAK SPACE}%", "20\N{NO-BREAK SPACE}%"] and header["photograph"]
    assert (header["hand"], header["mark"], header["truth"]) == ({"at": 1}, 7, -1)
    assert [model["by"] for model in header["models"]] == ["gradient", "attention"]
    assert len({model["color"] for model in header["models"]}) == 2 and header["pictures"] == 1000
    assert np.array_equal(arrays["frames"], FRAMES) and arrays["chances"].tolist() == [chances.tolist()] * 2
    assert arrays["view0"].tolist() == [[[0, 128]], [[255, 64]]] and not arrays["view1"].any()
    assert (arrays["noise"] == NOISE_CODES / 2).all() and np.isnan(arrays["curve"][1, 1])


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("shift", -3.0, "3 px left"),
        ("shift", 0.0, "0 px"),
        ("rotate", -15.0, "\N{MINUS SIGN}15°"),
        ("occlude", 0.25, "8 × 8 px"),
        ("brightness", 0.25, "+25\N{NO-BREAK SPACE}%"),
        ("brightness", -0.25, "\N{MINUS SIGN}25\N{NO-BREAK SPACE}%"),
        ("zoom", 2**-0.5, "× 0.71"),
        ("pieces", 1.0, "taken apart"),
    ],
)
def test_a_strength_in_words(name: str, value: float, words: str) -> None:
    assert strength_words(name, value, 32) == words

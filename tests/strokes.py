"""Write strokes as text, as vitviz/browser/kit/drawing_pad.js does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vitviz.data.drawings import _ALPHABET


def encode_strokes(strokes: list[NDArray[np.int64]]) -> str:
    """Return strokes as text, the inverse of `parse_strokes`."""
    return ".".join(
        "".join(
            _ALPHABET[x >> 3] + _ALPHABET[(x & 7) << 3 | y >> 6] + _ALPHABET[y & 63]
            for x, y in np.asarray(stroke).tolist()
        )
        for stroke in strokes
    )


# Centre lines of the ten digits in a square of side 10, x and y.
_DIGITS = (
    ("5,1 8,3 8,7 5,9 2,7 2,3 5,1",),
    ("3,3 5,1 5,9",),
    ("2,3 4,1 7,2 7,4 2,9 8,9",),
    ("2,2 5,1 7,3 4,5 7,7 5,9 2,8",),
    ("3,1 2,6 8,6", "7,2 6,9"),
    ("8,1 3,1 3,4 6,4 8,6 6,9 2,8",),
    ("7,1 3,4 2,7 5,9 8,7 6,5 3,6",),
    ("2,1 8,1 4,9", "3,5 7,5"),
    ("5,5 3,3 5,1 7,3 5,5 2,8 5,9 8,8 5,5",),
    ("7,4 4,5 3,2 6,1 7,3 6,9",),
)


def draw_digits(count: int, seed: int = 0) -> list[str]:
    """Return the text of drawings: the ten digits in turn, turned, stretched, moved and shaken."""
    dice = np.random.default_rng(seed)
    drawings = []
    for number in range(count):
        angle, size = dice.uniform(-0.3, 0.3), dice.uniform(20, 42, 2)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        middle = dice.uniform(200, 312, 2)
        strokes = []
        for line in _DIGITS[number % len(_DIGITS)]:
            corners = np.array([[float(at) for at in point.split(",")] for point in line.split()]) - 5
            fine = np.concatenate(
                [np.linspace(a, b, 8, endpoint=False) for a, b in zip(corners, corners[1:], strict=False)]
            )
            points = (fine * size) @ turn.T + middle + dice.normal(0, 3, fine.shape)
            strokes.append(np.clip(np.rint(points), 0, 511).astype(np.int64))
        drawings.append(encode_strokes(strokes))
    return drawings

"""Read drawn digits from their strokes as text, and draw them as images.

A stroke is a list of points on a grid of 512 × 512, three characters a point; a dot separates strokes. The text stands
in permalinks. vitviz/browser/kit/drawing_pad.js writes it.
"""

import re
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vitviz.config import Preparation
from vitviz.data.digit_placement import MNIST_PX, Uint8, find_ink_box

GRID = 512  # positions per axis
INK = 46  # width of a stroke on the grid
SIDE_PX = 224  # side of the image
MOST_CHARACTERS = 960
FIRST = "VKWWqBYxwbhlehghhikZsmx7oiOpalpa9ojUm7okj4h0Bgr2jz7mkGpEWq0pr1AsFXrduqGDoGVlejierfWucOqZOhWuTUuA"
"""A three, shown to new users."""
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_TEXT = re.compile(r"(?:(?:[A-Za-z0-9_-]{3})+(?:\.(?:[A-Za-z0-9_-]{3})+)*)?")
_RADIUS = INK * SIDE_PX / GRID / 2  # px of half a stroke

Frame = tuple[float, float, float]


def is_drawing(text: str) -> bool:
    """Return True for well-formed strokes; '' is an empty pad."""
    return len(text) <= MOST_CHARACTERS and _TEXT.fullmatch(text) is not None


def parse_strokes(text: str) -> list[NDArray[np.int64]]:
    """Return the points (n, 2) of every stroke, x and y on the grid.

    Raises:
        ValueError: if the text is malformed.
    """
    if not is_drawing(text):
        raise ValueError(
            f"expected strokes of three characters a point, at most {MOST_CHARACTERS}, received {text[:40]!r}"
        )
    strokes = []
    for stroke in filter(None, text.split(".")):
        codes = np.array([_ALPHABET.index(character) for character in stroke]).reshape(-1, 3)
        strokes.append(np.stack([codes[:, 0] * 8 + codes[:, 1] // 8, codes[:, 1] % 8 * 64 + codes[:, 2]], 1))
    return strokes


@lru_cache(maxsize=32)  # every run of a page needs its drawing twice
def draw_strokes(text: str) -> Uint8:
    """Draw strokes in white on black, each pixel by its share within the stroke: (224, 224, 3) uint8, read-only.

    vitviz/browser/kit/digit_input.js draws the same while the pen moves.

    Raises:
        ValueError: if the text is malformed.
    """
    distance = np.full((SIDE_PX, SIDE_PX), np.inf)
    for stroke in parse_strokes(text):
        points = stroke * (SIDE_PX / GRID)
        for start, end in pairwise(points if len(points) > 1 else np.repeat(points, 2, axis=0)):
            _measure(distance, start, end)
    share = np.clip(_RADIUS + 0.5 - np.sqrt(distance), 0, 1)
    grey: Uint8 = np.floor(255 * share + 0.5).astype(np.uint8)
    image = np.repeat(grey[..., None], 3, axis=2)
    image.flags.writeable = False
    return image


def _measure(distance: NDArray[np.float64], start: NDArray[np.float64], end: NDArray[np.float64]) -> None:
    """Lower the squared distances of the pixels around one line."""
    low = np.clip(np.floor(np.minimum(start, end) - _RADIUS - 1), 0, SIDE_PX).astype(int)
    high = np.clip(np.ceil(np.maximum(start, end) + _RADIUS + 1), 0, SIDE_PX).astype(int)
    x = np.arange(low[0], high[0]) + 0.5 - start[0]
    y = np.arange(low[1], high[1])[:, None] + 0.5 - start[1]
    across, down = end - start
    length = across**2 + down**2
    along = np.clip((x * across + y * down) / length, 0, 1) if length else 0.0
    window = distance[low[1] : high[1], low[0] : high[0]]
    np.minimum(window, (x - along * across) ** 2 + (y - along * down) ** 2, out=window)


def find_frame(text: str, preparation: Preparation) -> Frame | None:
    """Return (left, top, side) of the square that a model sees, in shares of the pad's side.

    None if there is no such square: the pad is empty, or the digit is stretched.
    """
    if not preparation.digit:
        return 0.0, 0.0, 1.0
    if preparation.image_size != MNIST_PX:
        return None
    box = find_ink_box(draw_strokes(text)[..., 0])
    if box is None:
        return None
    left, top, side = (float(length) / SIDE_PX for length in box)
    return left, top, side

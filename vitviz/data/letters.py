"""Drawn letters: three classes that no shipped model has seen, for trying out fine-tuning without images at hand.

Every letter is a few strokes; each end moves a little, and the whole is turned, sheared, scaled and moved, white on
black as MNIST's digits are.
"""

import io
import zipfile

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from vitviz.data.dataset import Images

LETTERS = ("H", "K", "N")
TRAIN, TEST = 20, 40  # images of each
SIDE_PX = 32
_DRAWN_PX = 96  # three times as large, then made smaller: smooth edges
_WOBBLE = 0.09  # of the letter's extent, standard deviation of a stroke's end
Stroke = tuple[tuple[float, float], ...]
_STROKES: dict[str, tuple[Stroke, ...]] = {
    "H": (((0, 0), (0, 1)), ((1, 0), (1, 1)), ((0, 0.5), (1, 0.5))),
    "K": (((0, 0), (0, 1)), ((1, 0), (0, 0.5), (1, 1))),
    "N": (((0, 1), (0, 0), (1, 1), (1, 0)),),
}


def draw_letter(letter: str, rng: np.random.Generator) -> Images:
    """Return one letter of `LETTERS`, (32, 32, 3) uint8, white on black."""
    image = Image.new("L", (_DRAWN_PX, _DRAWN_PX), 0)
    pen = ImageDraw.Draw(image)
    width, move = int(rng.integers(5, 11)), rng.uniform(-0.1, 0.1, 2)
    bend = _bend(rng)
    for stroke in _STROKES[letter]:
        ends = np.array(stroke) - 0.5 + rng.normal(0, _WOBBLE, (len(stroke), 2))
        at = (ends @ bend.T + 0.5 + move) * _DRAWN_PX
        pen.line([(float(x), float(y)) for x, y in at], fill=255, width=width, joint="curve")
    grey = np.array(image.resize((SIDE_PX, SIDE_PX), Image.Resampling.BICUBIC))
    return np.repeat(grey[..., None], 3, axis=2)


def _bend(rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a random linear map: scaled, sheared and turned by up to 20 degrees."""
    turn, shear = rng.uniform(-0.35, 0.35, 2)
    wide, high = rng.uniform(0.38, 0.6), rng.uniform(0.45, 0.68)
    scaled = np.array([[wide, shear * high], [0.0, high]])
    turned = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    bent: NDArray[np.float64] = turned @ scaled
    return bent


def letters_zip() -> bytes:
    """Return a zip with 'train' and 'test', in each a folder per letter: 20 images to learn from, 40 to test."""
    rng, made = np.random.default_rng(0), io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for split, count in (("train", TRAIN), ("test", TEST)):
            for letter in LETTERS:
                for index in range(count):
                    file = io.BytesIO()
                    Image.fromarray(draw_letter(letter, rng)).save(file, "PNG")
                    archive.writestr(f"{split}/{letter}/{index:02d}.png", file.getvalue())
    return made.getvalue()

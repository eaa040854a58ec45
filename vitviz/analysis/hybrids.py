"""Measure a hybrid's stem and compare trainings over time; arrays in and out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.receptive_fields import receptive_fields_px
from vitviz.config import ViTConfig

FloatArray = NDArray[np.float64]


def enlarging(config: ViTConfig) -> float:
    """Return the factor by which an image is enlarged before the stem: 1 for patches of a power of 2 px."""
    return float(2 ** (config.patch_size - 1).bit_length() / config.patch_size)


def stem_fields_px(config: ViTConfig) -> list[float]:
    """Return the side of the receptive field after each of a stem's 3 x 3 convolutions, in px of the image.

    Where the image is enlarged first, a side is as much of it as it is of the enlarged one; that the enlarging
    itself mixes neighbouring px, less than one at each edge, is left out.
    """
    halvings = (config.patch_size - 1).bit_length()
    first = len(config.stem) - halvings
    entering = receptive_fields_px([(3, 2 if i >= first else 1) for i in range(len(config.stem))])
    return [side / enlarging(config) for side in entering]


def field_box(
    cell: tuple[int, int], grid: tuple[int, int], field_px: float, side_px: int, enlarged: float = 1.0
) -> tuple[float, float, float, float]:
    """Return (left, top, right, bottom) of the field of a place (row, col) of a map, cut at the image's edges, in px.

    A convolution of 3 with padding 1 and stride 2 is centred on its cell's first pixel: place c of a map that steps
    over s px reads c s - (f - 1) / 2 to c s + (f - 1) / 2 of what enters the stem, `enlarged` times the image.
    """
    edges = []
    for at, count in ((cell[1], grid[1]), (cell[0], grid[0])):
        first = at * side_px / count - (field_px - 1 / enlarged) / 2
        edges.append((max(0.0, first), min(float(side_px), first + field_px)))
    (left, right), (top, bottom) = edges
    return left, top, right, bottom


def time_to_accuracy(x: FloatArray, accuracy: FloatArray, level: float) -> float | None:
    """Return the time at which an accuracy was first reached; None if it was not."""
    at = np.flatnonzero(accuracy >= level)
    return float(x[at[0]]) if len(at) else None

"""Measure a hybrid's stem and compare trainings over time; arrays in and out."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Crossing:
    """The last crossing of two learning curves: the time, and the accuracy of both."""

    x: float
    accuracy: float


def time_to_accuracy(x: FloatArray, accuracy: FloatArray, level: float) -> float | None:
    """Return the time at which an accuracy was first reached; None if it was not."""
    at = np.flatnonzero(accuracy >= level)
    return float(x[at[0]]) if len(at) else None


def crossing(a: tuple[FloatArray, FloatArray], b: tuple[FloatArray, FloatArray]) -> Crossing | None:
    """Return the last crossing of two curves (x, accuracy) in their common range; None if there is none.

    Between measurements both are taken as straight lines.
    """
    low, high = max(a[0][0], b[0][0]), min(a[0][-1], b[0][-1])
    at = np.unique(np.concatenate([a[0], b[0]]))
    at = at[(at >= low) & (at <= high)]
    if len(at) < 2:
        return None
    first, second = np.interp(at, *a), np.interp(at, *b)
    at, first, second = (
        line[first != second] for line in (at, first, second)
    )  # level is neither ahead nor behind
    ahead = first - second
    turns = np.flatnonzero(ahead[:-1] * ahead[1:] < 0)
    if not len(turns):
        return None
    i = int(turns[-1])
    share = ahead[i] / (ahead[i] - ahead[i + 1])
    x = float(at[i] + share * (at[i + 1] - at[i]))
    return Crossing(x, float(np.interp(x, *a)))

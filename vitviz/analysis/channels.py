"""Find where a feature map's channels respond, and the images of a dataset with the strongest responses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
Indices = NDArray[np.int64]
DRAWS = 2000
SILENT = 0.1  # of the median channel


@dataclass(frozen=True, eq=False)
class Peaks:
    """The strongest response of every channel to every image, (n, C): its value, and its place in reading order."""

    values: NDArray[np.float32]
    places: Indices

    @classmethod
    def of(cls, maps: FloatArray) -> "Peaks":
        """Return the peaks of maps (n, rows, cols, C)."""
        flat = maps.reshape(len(maps), -1, maps.shape[-1])
        places = flat.argmax(axis=1)
        return cls(np.take_along_axis(flat, places[:, None], axis=1)[:, 0].astype(np.float32), places)

    @classmethod
    def joined(cls, parts: "Sequence[Peaks]") -> "Peaks":
        """Return the peaks of several batches."""
        return cls(np.concatenate([p.values for p in parts]), np.concatenate([p.places for p in parts]))

    def top(self, channel: int, count: int) -> Indices:
        """Return the images to which a channel responds most, the strongest first."""
        return np.asarray(np.argsort(-self.values[:, channel], kind="stable")[:count])


def response_shares(maps: FloatArray, peaks: Peaks, count: int) -> NDArray[np.float64]:
    """Return (C,): an image's strongest response over the mean of the `count` strongest in the dataset.

    A channel that hardly ever responds, with such a mean below a tenth of the median channel's, counts as 0: a ratio of
    two small numbers says nothing.

    Args:
        maps: (rows, cols, C) of the image.
    """
    tops = np.sort(peaks.values.astype(np.float64), axis=0)[-count:].mean(axis=0)
    alive = tops > max(SILENT * float(np.median(tops)), 1e-6)
    responses = maps.max(axis=(0, 1)).astype(np.float64)
    return np.asarray(np.divide(responses, tops, out=np.zeros_like(tops), where=alive))


def rank_channels(values: FloatArray, count: int) -> list[int]:
    """Return the channels of the largest values (C,), the strongest first."""
    return [int(channel) for channel in np.argsort(-values, kind="stable")[:count]]


def count_largest_class(labels: Indices) -> int:
    """Return the number of images of the most frequent class."""
    return int(np.bincount(labels).max())


def class_purities(peaks: Peaks, labels: Indices, count: int) -> Indices:
    """Return the number of top images of one class for every channel that responds; 0 if none does."""
    alive = np.flatnonzero(peaks.values.max(axis=0) > 1e-6)
    return np.array([count_largest_class(labels[peaks.top(int(c), count)]) for c in alive] or [0])


def chance_purity(labels: Indices, count: int) -> float:
    """Return the expected number for `count` random images: the mean of 2,000 seeded draws."""
    rng = np.random.default_rng(0)
    draws = (rng.choice(labels, min(count, len(labels)), replace=False) for _ in range(DRAWS))
    return float(np.mean([count_largest_class(draw) for draw in draws]))

"""Measure token norms of a layer, find outliers, and measure the contrast of their patches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.verdict import Verdict, compare_values

FloatArray = NDArray[np.floating[Any]]
TIMES = 3.0  # the median's length: a token beyond counts as extreme
QUANTILES = (0.01, 0.5, 0.99)


@dataclass(frozen=True, eq=False)
class TokenNorms:
    """Token norms of one layer over several images.

    places: (n, rows, cols). prefix: (n, P).
    """

    places: NDArray[np.float32]
    prefix: NDArray[np.float32]

    @property
    def median(self) -> float:
        """Median norm over all tokens."""
        return float(np.median(self.places))

    @property
    def spread(self) -> NDArray[np.float64]:
        """The first, the fiftieth and the ninety-ninth of a hundred places by length."""
        return np.asarray(np.quantile(self.places, QUANTILES))

    @property
    def longest(self) -> float:
        """Largest norm over all tokens."""
        return float(self.places.max())

    @property
    def times(self) -> float:
        """Ratio of the largest norm to the median; 0 where the median is 0."""
        return self.longest / self.median if self.median > 0 else 0.0

    @property
    def extreme(self) -> NDArray[np.bool_]:
        """Mask (n, rows, cols) of the patches with a norm above three times the median."""
        return np.asarray(self.places > TIMES * self.median)


def measure_norms(places: FloatArray, prefix: FloatArray) -> TokenNorms:
    """Return the norms |z| of tokens (n, rows, cols, D) and (n, P, D)."""
    return TokenNorms(*(np.linalg.norm(part, axis=-1).astype(np.float32) for part in (places, prefix)))


def group_prefix(prefix: Sequence[str]) -> dict[str, list[int]]:
    """Return the positions of [CLS], [DIST] and of all registers together, by their display names."""
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(prefix):
        groups.setdefault("registers" if name.startswith("reg") else f"[{name.upper()}]", []).append(place)
    return groups


def summarise_norms(norms: FloatArray, prefix: Sequence[str]) -> NDArray[np.float64]:
    """Return the median and the largest patch norm, and the mean norm of each group of prefix tokens.

    Args:
        norms: (images, tokens) of one layer.

    Returns:
        (2 + groups,).
    """
    patches = norms[:, len(prefix) :]
    means = [norms[:, places].mean() for places in group_prefix(prefix).values()]
    return np.array([np.median(patches), patches.max(), *means])


def patch_contrast(images: NDArray[np.uint8], grid: tuple[int, int]) -> NDArray[np.float64]:
    """Return the standard deviation of the pixels of each patch: (n, H, W) grey -> (n, rows, cols)."""
    count, height, width = images.shape
    rows, cols = grid
    cells = images.astype(np.float64).reshape(count, rows, height // rows, cols, width // cols)
    return np.asarray(cells.std(axis=(2, 4)))


def compare_extreme(values: NDArray[np.float64], extreme: NDArray[np.bool_]) -> Verdict | None:
    """Compare patches with extreme norms with the others of their image; None if no image has both.

    Args:
        values, extreme: (n, rows, cols).
    """
    mixed = [(own, mask) for own, mask in zip(values, extreme, strict=True) if mask.any() and not mask.all()]
    inside, outside = ([float(own[mask == side].mean()) for own, mask in mixed] for side in (True, False))
    return compare_values(inside, outside) if mixed else None


def edge_mask(grid: tuple[int, int]) -> NDArray[np.bool_]:
    """Return a mask (rows, cols) of the patches at the image's edge."""
    rows, cols = np.indices(grid)
    return np.asarray((rows == 0) | (cols == 0) | (rows == grid[0] - 1) | (cols == grid[1] - 1))

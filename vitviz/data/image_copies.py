"""Make copies of an image whose corresponding places are known: mirrored, shifted and enlarged."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitviz.analysis.image_changes import shift

Uint8 = NDArray[np.uint8]
COPIES: Mapping[str, str] = MappingProxyType(
    {"flip": "Mirror image", "shift": "Shifted copy", "crop": "Enlarged centre"}
)
SHIFTED = 0.25  # of the width, to the right
CROPPED = 2 / 3  # of the side


def copy_image(image: Uint8, kind: str) -> Uint8:
    """Return a mirrored, shifted or enlarged copy of a square image (S, S, 3).

    Raises:
        KeyError: if there is no such kind.
    """
    side = image.shape[0]
    if kind == "flip":
        return np.ascontiguousarray(image[:, ::-1])
    if kind == "shift":
        return shift(image, round(SHIFTED * side))
    if kind != "crop":
        raise KeyError(kind)
    edge = side * (1 - CROPPED) / 2
    box = (edge, edge, side - edge, side - edge)
    return np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.BICUBIC, box))


def locate_cells(kind: str, grid: tuple[int, int]) -> NDArray[np.intp]:
    """Return the cell of a copy that shows the centre of each cell of the original.

    Args:
        kind: of `COPIES`.
        grid: (rows, cols), the same for both.

    Returns:
        (rows * cols,), in reading order; -1 where the centre lies outside the copy.

    Raises:
        KeyError: if there is no such kind.
    """
    rows, cols = grid
    y, x = (np.indices(grid).reshape(2, -1) + 0.5) / np.array([[rows], [cols]])
    if kind == "flip":
        x = 1 - x
    elif kind == "shift":
        x = x + SHIFTED
    elif kind == "crop":
        y, x = ((centres - 0.5) / CROPPED + 0.5 for centres in (y, x))
    else:
        raise KeyError(kind)
    inside = (x >= 0) & (x < 1) & (y >= 0) & (y < 1)
    cells = np.floor(y * rows + 1e-9) * cols + np.floor(x * cols + 1e-9)
    return np.where(inside, cells, -1).astype(np.intp)

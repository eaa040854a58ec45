"""Pack the matches between the patches of two images for the browser."""

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.token_similarity import Matches
from vitviz.plots.heat_grid import GridStyle, HeatPanel, pack_heat_grid
from vitviz.plots.layers import cosine_codes
from vitviz.plots.photo import Photo


def pack_matches(
    titles: tuple[str, str],
    photos: tuple[Photo, Photo],
    pin: str,
    grids: tuple[tuple[int, int], tuple[int, int]],
    layer: int,
    cosines: NDArray[np.float64],
    matches: Matches,
    count: int,
) -> bytes:
    """Pack two images and the cosines between their patches for `match.js`.

    Args:
        grids: rows and columns of both images' patches.
        layer: index of the layer.
        cosines: (N, M) of the layer.
        matches: its mutual nearest neighbours.
        count: how many of them, at most, are drawn as lines.
    """
    panels = [
        HeatPanel(title, grid, photo=photo) for title, grid, photo in zip(titles, grids, photos, strict=True)
    ]
    legend = ["\N{MINUS SIGN}1", "cosine to the selected patch", "1"]
    return pack_heat_grid(
        panels,
        GridStyle("equal", legend=legend),
        pin=pin,
        layer=layer,
        count=count,
        arrays={
            "cosines": cosine_codes(cosines),
            "pairs": np.stack([matches.first, matches.second], axis=1).astype(np.int32),
        },
    )

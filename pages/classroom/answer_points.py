"""The class's question on its picture: one's own patch before, everybody's as points after."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pages.views.register import register
from vitviz.plots.blob import pack
from vitviz.plots.photo import Photo

_points = register(__file__, "answer_points")
NOBODY = -1


def class_points(
    grid: tuple[int, int],
    ground: Photo | None,
    counts: Sequence[int],
    *,
    own: int | None,
    measured: int | None,
    words: str,
    takes: bool,
    key: str,
) -> int | None:
    """Draws it; returns the patch that was pointed at in this run, in reading order.

    Args:
        grid: (rows, cols) of patches.
        ground: what the model sees; None where it is not here.
        counts: how many pointed at each patch, in reading order; empty while that is hidden.
        own: the visitor's own patch.
        measured: the patch that was measured.
        words: the same for who does not see it.
        takes: whether a patch can still be pointed at.
    """
    header = {
        "grid": grid,
        "own": NOBODY if own is None else own,
        "measured": NOBODY if measured is None else measured,
        "words": words,
        "takes": takes,
        **({} if ground is None else ground.header),
    }
    arrays = {"counts": np.asarray(counts, np.uint16)} | ({} if ground is None else {"photo": ground.array})
    picked = _points(pack(header, **arrays), key=key, triggers=("pick",)).pick
    cells = grid[0] * grid[1]
    return picked if type(picked) is int and takes and 0 <= picked < cells else None

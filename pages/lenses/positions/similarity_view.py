"""The similarity mosaic: every position's cosine with every other, one canvas per encoding, linked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pages.views.register import register

_similarity = register(__file__, "similarity_view")


def similarity(payload: bytes, *, key: str, on_change: Callable[[], None] | None = None) -> Any:
    """Mounts the mosaics that `vitviz.plots.positions.mosaic` packed.

    A click triggers `pin`: [x, y] in [0, 1], the centre of the position that was chosen.
    """
    return _similarity(payload, key=key, triggers=("pin",), on_change=on_change)

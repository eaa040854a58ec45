"""Maps of one picture side by side, one pointer over all."""

from __future__ import annotations

from pages.views.event_values import whole
from pages.views.register import register

_maps = register(__file__, "maps")


def maps(data: bytes, *, key: str) -> int | None:
    """Draws `vitviz.plots.attention.maps_view`; returns the patch that was picked in this run."""
    return whole(_maps(data, key=key, triggers=("pick",)).pick)

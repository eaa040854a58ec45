"""Maps of one picture side by side, one pointer over all."""

from __future__ import annotations

from pages.views.register import register

_maps = register(__file__, "maps")


def maps(data: bytes, *, key: str) -> int | None:
    """Draws `vitviz.plots.attention.maps_view`; returns the patch that was picked in this run."""
    picked = _maps(data, key=key, triggers=("pick",)).pick
    return None if picked is None else int(picked)

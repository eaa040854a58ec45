"""Heads against depth: hover shows where a head looks around its query, a slider drags through training."""

from __future__ import annotations

from pages.views.event_values import pair
from pages.views.register import register

_view = register(__file__, "head_distance")


def head_distance(data: bytes, *, key: str) -> tuple[int, int] | None:
    """Draws `vitviz.plots.distance.heads_view`; returns the (layer, head) that was clicked in this run."""
    return pair(_view(data, key=key, triggers=("pick",)).pick)

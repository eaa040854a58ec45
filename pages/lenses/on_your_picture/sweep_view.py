"""The changed picture and every model's answer, in the browser."""

from __future__ import annotations

from pages.views.register import register

_sweep = register(__file__, "sweep_view")


def sweep_view(data: bytes, *, key: str) -> None:
    """Draws `vitviz.plots.image_changes.payload`; what the visitor moves is the state 'moved' of the key."""
    _sweep(data, key=key, states=("moved",))

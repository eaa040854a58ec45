"""A picture in parts and every model's answer to it, in the browser."""

from __future__ import annotations

from pages.views.register import register

_parts = register(__file__, "parts_view", "sweep_view")


def parts_view(data: bytes, *, key: str) -> None:
    """Draws `vitviz.plots.assembly.payload`; where the visitor puts the parts is the state 'moved' of the key."""
    _parts(data, key=key, states=("moved",))

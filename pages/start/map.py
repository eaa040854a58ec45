"""The whole model alive on one screen, and the answer for the part that is opened in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.views.register import register

_map = register(__file__, "map")
_part = register(__file__, "map_part")
EVENTS = ("pin", "open", "go")


def draw_map(message: bytes, part: bytes, *, key: str, on_change: Callable[[], None]) -> None:
    """Mounts the map and what is opened in it.

    Args:
        message: of `vitviz.plots.map.for_visit`.
        part: of `vitviz.plots.map_part.part_view`; a message of its own, so that opening a part does not send the map.
        on_change: reads what the visitor did with `events`.
    """
    with st.container(gap=None):
        _part(part, key=f"{key}.part")
        _map(message, key=key, triggers=EVENTS, on_change=on_change)


def events(key: str) -> dict[str, Any]:
    """What the visitor did in this run, by name: 'pin', 'open', 'go'; to be called in the map's callback."""
    said = st.session_state.get(key) or {}
    return {name: said[name] for name in EVENTS if name in said and said[name] is not None}

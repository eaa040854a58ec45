"""The whole model alive on one screen, and the answer for the part that is opened in it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.views.register import register

_map = register(__file__, "map")
_part = register(__file__, "map_part")
EVENTS = ("pin", "open", "go")


def draw_map(message: bytes, part: bytes, *, key: str) -> None:
    """Mounts the map and what is opened in it; `events` says what the visitor did.

    Args:
        message: of `vitviz.plots.map.for_visit`.
        part: of `vitviz.plots.map_part.part_view`; a message of its own, so that opening a part does not send the map.
    """
    with st.container(gap=None):
        _part(part, key=f"{key}.part")
        _map(message, key=key, triggers=EVENTS)


def events(key: str) -> dict[str, Any]:
    """What the visitor did in this run, by name: 'pin', 'open', 'go'."""
    said = st.session_state.get(key) or {}
    return {name: said[name] for name in EVENTS if name in said and said[name] is not None}

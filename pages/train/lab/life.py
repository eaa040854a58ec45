"""A run's life as a timeline with pictures: each snapshot's arrays travel once, dragging is the browser's."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.views.register import register

KEY = "live_lab.life"
_life = register(__file__, "life")


def life(payload: bytes) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Mounts the timeline that `vitviz.plots.life.payload` packed.

    Returns the moment that the visitor settled on (run, step, follow), and what was opened in this run of the script.
    """
    result = _life(payload, key=KEY, states=("moment",), triggers=("open", "again"))
    return result.moment, result.open


def asks_again() -> bool:
    """Whether the browser has lost a message, and asks for all that it may show; to be asked before `life`."""
    return bool((st.session_state.get(KEY) or {}).get("again"))

"""Mount the attention explorer: hovering selects the query, a click pins it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from pages.streamlit_fixes.required.view_files import FOLDERS
from pages.views.event_values import read_events, read_index, read_pin
from pages.views.register import register
from vitviz.plots.attention_message import Strip
from vitviz.plots.blob import pack

_BESIDE = str(FOLDERS[1] / "explorer.js")
_explorer = register(_BESIDE, "explorer")
_stored = register(_BESIDE, "explorer_stored")  # options and strips


@dataclass(frozen=True)
class ExplorerOptions:
    """View options of a group of explorers; `explorer.js` has the same defaults.

    direction: 'row' or 'column'. scale: 'shared' or 'map'. style: 'overlay', 'heat', 'dim' or 'mask'.
    """

    direction: str = "row"
    scale: str = "shared"
    style: str = "overlay"
    share: float = 0.6
    opacity: float = 0.9
    smooth: bool = False
    grey: bool = False
    grid: bool = True


def draw_explorer(message: bytes, strip: Strip, *, key: str, on_change: Callable[[], None]) -> None:
    """Draw `vitviz.plots.attention_message.explorer_view` with its strip."""
    with st.container(gap=None):
        send_strip(strip, key=key)
        draw_explorer_stage(message, key=key, on_change=on_change)


def send_strip(strip: Strip, *, key: str) -> None:
    _stored(strip.data, key=f"{key}.strip")


def draw_explorer_stage(message: bytes, *, key: str, on_change: Callable[[], None]) -> None:
    """Draw the explorer without a strip; `send_strip` sends it."""
    _explorer(message, key=key, triggers=("pin", "layer", "head"), on_change=on_change)


def read_picks(key: str) -> dict[str, Any]:
    """Return the explorer's events, e.g. {'pin': Pin} or {'layer': int}; call it in the callback."""
    events = read_events(key)
    picks = {"pin": read_pin(events.get("pin"))} | {
        name: read_index(events.get(name)) for name in ("layer", "head")
    }
    return {name: pick for name, pick in picks.items() if pick is not None}


def send_options(group: str, pin: str, options: ExplorerOptions) -> None:
    _stored(pack({"group": group, "pin": pin} | asdict(options)), key=f"{group}.options")

"""The attention explorer in the browser: hover is the query, a click pins it, a click on a small map brings it up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from pages.views.event_values import events_of, pin, whole
from pages.views.register import register
from vitviz.plots.attention import Strip
from vitviz.plots.blob import pack

_explorer = register(__file__, "explorer")
_strip = register(__file__, "explorer_strip")
_options = register(__file__, "explorer_options")


@dataclass(frozen=True)
class Options:
    """How the explorers of a group are drawn; `explorer.js` has the same defaults.

    `direction` is 'row' or 'column', `scale` 'shared' or 'map', `style` 'overlay', 'heat', 'dim' or 'mask'.
    """

    direction: str = "row"
    scale: str = "shared"
    style: str = "overlay"
    share: float = 0.6
    opacity: float = 0.9
    smooth: bool = False
    grey: bool = False
    grid: bool = True


def explorer(data: bytes, strip: Strip, *, key: str, on_change: Callable[[], None]) -> None:
    """Draws `vitviz.plots.attention.explorer_view` with its strip; what was picked is in the session under the key.

    `picked(key)` reads it inside on_change: {'pin': Pin} | {'layer': int} | {'head': int}.
    """
    with st.container(gap=None):
        hand_strip(strip, key=key)
        stage(data, key=key, on_change=on_change)


def hand_strip(strip: Strip, *, key: str) -> None:
    """Gives the explorer of this key its strip; draws nothing."""
    _strip(strip.data, key=f"{key}.strip")


def stage(data: bytes, *, key: str, on_change: Callable[[], None]) -> None:
    """The explorer alone, beside a strip that `hand_strip` gave."""
    _explorer(data, key=key, triggers=("pin", "layer", "head"), on_change=on_change)


def picked(key: str) -> dict[str, Any]:
    """The events of the explorer in this run, by name; to be called in its callback."""
    events = events_of(key)
    found = {"pin": pin(events.get("pin"))} | {name: whole(events.get(name)) for name in ("layer", "head")}
    return {name: value for name, value in found.items() if value is not None}


def view_options(group: str, pin: str, options: Options) -> None:
    """Tells the explorers of a group how to draw, in a message of a few bytes."""
    _options(pack({"group": group, "pin": pin} | asdict(options)), key=f"{group}.options")

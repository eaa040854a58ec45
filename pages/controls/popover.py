"""What lies behind a button is made when it is opened; a control behind a closed one has its value all the same.

    with behind.button("Options", "tune", "filters.options"):
        count = controls.select(...)  # the link's, else what was chosen, else the default; drawn only while it is open

The controls of pages/controls know of it. What is drawn there beside them goes nowhere while it is closed; a widget of
another kind asks `closed()` first.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

if TYPE_CHECKING:
    from streamlit.elements.lib.mutable_popover_container import PopoverContainer

_closed: ContextVar[bool] = ContextVar("closed", default=False)
_NOWHERE = DeltaGenerator(root_container=None)  # takes what is drawn, and tells no browser


class Behind:
    """The place behind a button; it may be entered later than the button is drawn."""

    def __init__(self, place: DeltaGenerator, is_open: bool) -> None:
        self._place, self._is_open = (place if is_open else _NOWHERE), is_open
        self._before: Token[bool] | None = None

    def __enter__(self) -> None:
        self._before = _closed.set(not self._is_open)
        self._place.__enter__()

    def __exit__(self, *why: object) -> None:
        self._place.__exit__(None, None, None)
        assert self._before is not None
        _closed.reset(self._before)


def button(
    label: str,
    icon: str,
    key: str,
    *,
    width: Literal["content", "stretch"] = "content",
    disabled: bool = False,
) -> Behind:
    """The button; opening it has the page run, or the fragment that it stands in.

    Args:
        icon: of Material Symbols, by name.
        key: 'filters.options'; the session knows by it whether it is open.
    """
    place = st.popover(
        label, icon=f":material/{icon}:", width=width, disabled=disabled, key=key, on_change="rerun"
    )
    return Behind(place, _is_open(place))


def _is_open(place: PopoverContainer) -> bool:
    return bool(place.open)  # as the browser says


def closed() -> bool:
    """Whether what is drawn now lies behind a button that is closed."""
    return _closed.get()

"""Draw popovers whose content is computed only while they are open.

    with popover.draw_popover("Options", "tune", "filters.options"):
        count = widgets.select(...)  # linked, stored or default value; drawn only while the popover is open

The widgets of pages/controls keep their values in a closed popover. Other widgets must ask `is_closed()` first; what is
drawn beside them is discarded.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

if TYPE_CHECKING:
    from streamlit.elements.lib.mutable_popover_container import PopoverContainer

_closed: ContextVar[bool] = ContextVar("closed", default=False)
_DISCARD = DeltaGenerator(root_container=None)  # accepts elements and sends nothing to the browser


class Popover:
    """A popover's content; it may be entered later than its button is drawn."""

    def __init__(self, container: DeltaGenerator, is_open: bool) -> None:
        self._container, self._is_open = (container if is_open else _DISCARD), is_open
        self._token: Token[bool] | None = None

    def __enter__(self) -> None:
        self._token = _closed.set(not self._is_open)
        self._container.__enter__()

    def __exit__(self, *error: object) -> None:
        self._container.__exit__(None, None, None)
        assert self._token is not None
        _closed.reset(self._token)


def draw_popover(label: str, icon: str, key: str) -> Popover:
    """Draw the button; opening it reruns the page or the fragment around it.

    Args:
        icon: name of a Material Symbol.
        key: session key of the open state, such as 'filters.options'.
    """
    container = st.popover(label, icon=f":material/{icon}:", width="content", key=key, on_change="rerun")
    return Popover(container, _read_open(container))


def discard() -> Popover:
    """Return a container that computes controls, with linked or stored values, and draws nothing."""
    return Popover(_DISCARD, False)


def _read_open(container: PopoverContainer) -> bool:
    return bool(container.open)


def is_closed() -> bool:
    return _closed.get()

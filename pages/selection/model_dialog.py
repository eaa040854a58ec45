"""More models: published ones to fetch and a visitor's own weights, in a dialog that is one click from a photo."""

from __future__ import annotations

import streamlit as st

from pages.controls import session_keys
from pages.selection import own_weights_form, published_form


def button() -> None:
    """Opens the dialog, from below the list of models."""
    st.button(
        "More models", icon=":material/add:", key="nouns.more", on_click=_set, args=(True,), width="stretch"
    )


def offer(key: str) -> None:
    """Opens the dialog, from beside a photo."""
    st.button(
        "Photos: ImageNet models",
        icon=":material/photo_library:",
        key=key,
        on_click=_set,
        args=(True,),
        width="stretch",
    )


def draw(chosen: str) -> None:
    """The dialog, while it is open; it stays open over runs of the page, such as those of a file that arrives."""
    if st.session_state.get(session_keys.MORE):
        st.dialog("More models", width="medium", on_dismiss=_close)(_content)(chosen)


def _content(chosen: str) -> None:
    if not st.session_state.get(session_keys.MORE):  # a model has been chosen in it
        st.rerun()
    published_form.draw()
    st.divider()
    own_weights_form.draw(chosen)


def _set(is_open: bool) -> None:
    st.session_state[session_keys.MORE] = is_open


def _close() -> None:
    _set(False)

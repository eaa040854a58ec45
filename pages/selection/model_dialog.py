"""Draw the dialog with further models: published weights to download and the user's own weights."""

from __future__ import annotations

import streamlit as st

from pages.controls import session_keys
from pages.selection import own_weights_form, published_form


def draw_button() -> None:
    st.button(
        "More models",
        icon=":material/add:",
        key="nouns.more",
        on_click=_set_open,
        args=(True,),
        width="stretch",
    )


def draw_published_button(key: str) -> None:
    st.button(
        "Photos: published models",
        icon=":material/photo_library:",
        key=key,
        on_click=_set_open,
        args=(True,),
        width="stretch",
    )


def draw(chosen: str) -> None:
    """Draw the dialog while it is open; it stays open when a file arrives."""
    if st.session_state.get(session_keys.MODEL_DIALOG):
        st.dialog("More models", width="medium", on_dismiss=_close)(_draw_content)(chosen)


def _draw_content(chosen: str) -> None:
    if not st.session_state.get(session_keys.MODEL_DIALOG):  # a model was selected in it
        st.rerun()
    published_form.draw()
    st.divider()
    own_weights_form.draw(chosen)


def _set_open(is_open: bool) -> None:
    st.session_state[session_keys.MODEL_DIALOG] = is_open


def _close() -> None:
    _set_open(False)

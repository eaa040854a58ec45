"""Draw the dialog with further models: published weights to download and the user's own weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.controls import session_keys
from pages.selection import hub_form, model_usage, own_weights_form, published_form
from pages.stores import own_weights
from pages.stores.model_choice import ModelChoice


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


def draw(chosen: ModelChoice, step: int) -> None:
    """Draw the dialog while it is open; it stays open when a file arrives."""
    if st.session_state.get(session_keys.MODEL_DIALOG):
        st.dialog("More models", width="medium", on_dismiss=_close)(_draw_content)(chosen, step)


def _draw_content(chosen: ModelChoice, step: int) -> None:
    if not st.session_state.get(session_keys.MODEL_DIALOG):  # a model was selected in it
        st.rerun()
    parts: list[Callable[[], None]] = [published_form.draw, partial(_draw_own, chosen, step)]
    if chosen.key.startswith(own_weights.KEY):
        parts.reverse()  # their notes and settings are seen without scrolling
    parts[0]()
    st.divider()
    parts[1]()


def _draw_own(chosen: ModelChoice, step: int) -> None:
    own_weights_form.draw()
    hub_form.draw()
    own_weights_form.draw_settings(chosen.key)
    model_usage.draw(chosen, step, "model_dialog")


def _set_open(is_open: bool) -> None:
    st.session_state[session_keys.MODEL_DIALOG] = is_open


def _close() -> None:
    _set_open(False)

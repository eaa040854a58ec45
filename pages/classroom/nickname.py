"""What somebody is called on the board of a challenge: asked for before a class is joined, and within it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.classroom import membership
from vitviz.classes.classes import LONGEST_NAME, clean_name

_KEY = "class_room._name"


def draw(on_change: Callable[[], None] | None = None) -> None:
    """The field of the nickname; within a form it is taken when the form is sent."""
    st.text_input(
        "Nickname, if you want one",
        membership.name(),
        key=_KEY,
        max_chars=LONGEST_NAME,
        on_change=on_change,
        help="Stands beside your run on the board of a challenge, and nowhere else.",
    )


def take() -> None:
    """Calls this visit what the field says."""
    membership.call_me(clean_name(st.session_state[_KEY]))

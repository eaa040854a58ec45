"""A model that stands in where the sidebar's is of another kind: which one it is, and the offer to choose it."""

from __future__ import annotations

import streamlit as st

from pages._shared import nouns
from pages._shared.catalogue import ModelChoice

RANDOM = ":orange-badge[:material/casino: random weights] It has not been trained."


def say_which(choice: ModelChoice, *, lacks: str, button: str, key: str) -> None:
    """Says which model is shown where the sidebar's has no such part, and offers it; says where weights are random.

    Args:
        choice: the model that is shown.
        lacks: what the sidebar's model has none of: 'windows'.
        button: what the offer is called: 'Choose this Swin'.
        key: of the button.
    """
    random = RANDOM if choice.trained_on is None else ""
    if choice.key == nouns.current().model:
        if random:
            st.markdown(random)
        return
    left, right = st.columns([4, 1], vertical_alignment="center")
    left.markdown(f":gray[{nouns.choice().title} has no {lacks}; this is] {choice.title}. {random}".strip())
    right.button(button, key=key, on_click=nouns.set_model, args=(choice.key,), width="stretch")

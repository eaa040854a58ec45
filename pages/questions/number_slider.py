"""Draw a slider that asks for a number and has no value before it is moved."""

from __future__ import annotations

import streamlit as st

from vitviz.lessons.question_kinds import Drag


def get_moved_key(key: str) -> str:
    """Return the session key of the number that the user has set."""
    return f"{key}.said"


def draw_number_slider(kind: Drag, key: str, label: str) -> float | None:
    """Draw the slider and return its number in the question's unit, or None before it is moved."""

    def store_number() -> None:
        st.session_state[get_moved_key(key)] = st.session_state[key]

    moved_to: float | None = st.session_state.get(get_moved_key(key))
    scale = 100.0 if kind.unit == "%" else 1.0  # a float, as all numbers of a slider must have one type
    digits = 0 if scale * kind.step >= 1 else 2
    middle = round((kind.low + kind.high) / 2 / kind.step) * kind.step
    value = st.slider(
        label,
        scale * kind.low,
        scale * kind.high,
        scale * middle if moved_to is None else moved_to,
        scale * kind.step,
        key=key,
        format=f"%.{digits}f {kind.unit.replace('%', '%%')}".strip(),
        label_visibility="collapsed",
        on_change=store_number,
    )
    if moved_to is None:
        st.caption(f"Drag to {label[0].lower()}{label[1:]}.")
        return None
    return float(value) / scale

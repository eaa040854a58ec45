"""A slider that asks for a number: where it stands before it was moved is nobody's guess."""

from __future__ import annotations

import streamlit as st

from vitviz.lessons.question_kinds import Drag


def said_key(key: str) -> str:
    """Where a session keeps the number that a visitor has dragged to."""
    return f"{key}.said"


def drag(kind: Drag, key: str, label: str) -> float | None:
    """Draws the slider under `key`; the number in the kind's own unit, None before the visitor has moved it."""

    def moved() -> None:
        st.session_state[said_key(key)] = st.session_state[key]

    said: float | None = st.session_state.get(said_key(key))
    share = 100.0 if kind.unit == "%" else 1.0  # a float: a slider's numbers must all be of one kind
    digits = 0 if share * kind.step >= 1 else 2
    middle = round((kind.low + kind.high) / 2 / kind.step) * kind.step
    value = st.slider(
        label,
        share * kind.low,
        share * kind.high,
        share * middle if said is None else said,
        share * kind.step,
        key=key,
        format=f"%.{digits}f {kind.unit.replace('%', '%%')}".strip(),
        label_visibility="collapsed",
        on_change=moved,
    )
    if said is None:
        st.caption(f"Drag to {label[0].lower()}{label[1:]}.")
        return None
    return float(value) / share

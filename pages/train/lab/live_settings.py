"""Change the learning rate and weight decay of an active run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.stores import runs, session
from pages.train.lab import lab_controls
from vitviz.config import name_fields
from vitviz.text import plain, reason

if TYPE_CHECKING:
    from vitviz.training.run_directory import Run, Status

RATES = (("learning_rate", "Peak learning rate", 5e-4), ("weight_decay", "Weight decay", 0.01))


def draw(run: Run, status: Status) -> None:
    """Draw both controls in a popover; a change is sent to the trainer."""
    with st.popover("Change during training", icon=":material/tune:", width="stretch"):
        st.caption("Both apply from the next step on; all other settings need a new run.")
        current_rates = status if status.learning_rate else run.config().train
        for name, label, step in RATES:
            rate = getattr(current_rates, name)
            st.number_input(
                label,
                value=_sync_default(run, name, rate),
                step=step,
                format="%g",
                key=_get_key(run, name),
                on_change=apply_change,
                args=(run, name),
            )
        refused_id, refusal = st.session_state.get(lab_controls.REFUSAL, ("", ""))
        if refused_id == run.id:
            st.error(refusal)


def _get_key(run: Run, name: str) -> str:
    return f"live_lab._set_{name}_{run.id}"


def _sync_default(run: Run, name: str, rate: float) -> float:
    """Return the control's default, and show a rate that another tab or editor has set.

    The default stays at the rate first shown: Streamlit would report a moving default as the user's change.
    """
    run_id, first_rates, last_rates = st.session_state.get(lab_controls.SHOWN_RATES, ("", {}, {}))
    if run_id != run.id:  # only the rates of the shown run are stored
        first_rates, last_rates = {}, {}
        st.session_state[lab_controls.SHOWN_RATES] = (run.id, first_rates, last_rates)
    if last_rates.setdefault(name, rate) != rate:
        st.session_state[_get_key(run, name)] = last_rates[name] = rate
    return float(first_rates.setdefault(name, rate))


def apply_change(run: Run, name: str) -> None:
    """Send the control's value to the trainer if the user may change the run; a callback."""
    rate = st.session_state[_get_key(run, name)]
    if not runs.may_change(session.get_current(), run):
        return
    try:
        run.control("set", **{name: float(rate)})
    except (ValueError, OSError) as error:
        st.session_state[lab_controls.REFUSAL] = (
            run.id,
            format_sentence(name_fields(reason(error))),
        )
    else:
        st.session_state.pop(lab_controls.REFUSAL, None)


def format_sentence(text: str) -> str:
    """Return a message as a capitalized sentence, escaped for Markdown."""
    text = text.strip()
    return plain(text[:1].upper() + text[1:] + ("" if text.endswith((".", "…")) else "."))

"""Learning rate and weight decay of a run that is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.stores import runs, session
from pages.train.lab import fields, keys
from vitviz.text import plain, reason

if TYPE_CHECKING:
    from vitviz.training.run_directory import Run, Status

RATES = (("learning_rate", "Peak learning rate", 5e-4), ("weight_decay", "Weight decay", 0.01))


def draw(run: Run, status: Status) -> None:
    """Both in a popover, as they stand; a change is written for the trainer."""
    with st.popover("Change while it trains", icon=":material/tune:", width="stretch"):
        st.caption(
            "These two apply from the next step on. Anything else is structure: start a new run with it."
        )
        standing = status if status.learning_rate else run.config().train
        for name, label, step in RATES:
            now = getattr(standing, name)
            st.number_input(
                label,
                value=_first_shown(run, name, now),
                step=step,
                format="%g",
                key=_key(run, name),
                on_change=apply,
                args=(run, name),
            )
        refused, why = st.session_state.get(keys.REFUSAL, ("", ""))
        if refused == run.id:
            st.error(why)


def _key(run: Run, name: str) -> str:
    return f"live_lab._set_{name}_{run.id}"


def _first_shown(run: Run, name: str, now: float) -> float:
    """The control's default: a moving one, once the status is written, would count as the visitor's change, and
    without one a popover that opens after a poll would begin at 0. What another tab or editor set stands in it since.
    """
    shown, began, last = st.session_state.get(keys.STANDING, ("", {}, {}))
    if shown != run.id:  # of one run, not of all that were ever watched
        began, last = {}, {}
        st.session_state[keys.STANDING] = (run.id, began, last)
    if last.setdefault(name, now) != now:
        st.session_state[_key(run, name)] = last[name] = now
    return float(began.setdefault(name, now))


def apply(run: Run, name: str) -> None:
    """Tells the trainer what the control says, if the run may be changed here; in a callback."""
    value = st.session_state[_key(run, name)]
    if not runs.may_change(session.current(), run):
        return
    try:
        run.control("set", **{name: float(value)})
    except (ValueError, OSError) as error:
        st.session_state[keys.REFUSAL] = (run.id, sentence(fields.said(reason(error))))
    else:
        st.session_state.pop(keys.REFUSAL, None)


def sentence(text: str) -> str:
    """A message as a sentence, for Markdown."""
    text = text.strip()
    return plain(text[:1].upper() + text[1:] + ("" if text.endswith((".", "…")) else "."))

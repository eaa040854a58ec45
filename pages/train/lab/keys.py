"""What the lab keeps beside its controls: keys of the session that are no widget's own, and what outlives a reload."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.stores import visit

RUN = "live_lab.run"  # the run on the stage: a control, in the link
BESIDE = "live_lab._beside"  # ids of the runs whose curves stand beside its
MOMENT = "live_lab._moment"  # {run, step, follow}: where the timeline stands, or None
VIEW = "live_lab._view"  # how the curves are looked at
NOTICE = "live_lab._notice"  # one sentence about what could not be done, shown once
REFUSAL = "live_lab._refusal"  # why a change of a run under way was refused, shown until the next one
STOPPING = "live_lab._stopping"  # the run that was told to stop here and may still finish its step
WATCHED = "live_lab._watched"  # whether the last run of the script saw a run under way
GROWING = "live_lab._growing"  # whether the timeline polls only because frames are missing
SLOWNESS = "live_lab._slowness"  # of the polls that the last run of the script began
LOADED = "live_lab._loaded"  # the recipe whose values the controls were last set to
RACE_LOADED = (
    "live_lab._race_loaded"  # the data set whose number of epochs the race's control was last set to
)
SHELF = "live_lab._shelf"  # which leaves of flip-books this session's browser has
BOOK = "live_lab._book"  # a weak reference to the flip-book that this visit saw last


def notice(sentence: str) -> None:
    """Says one sentence on the next run of the page."""
    st.session_state[NOTICE] = sentence


def remembered(key: str, default: Any = None) -> Any:
    """What the session holds under a key, else what the visit noted before a reload."""
    if key not in st.session_state:
        return visit.current().notes.get(key, default)
    return st.session_state[key]


def remember(key: str, value: object) -> None:
    """Keeps a value in the session, and in the visit's notes for a reload."""
    st.session_state[key] = value
    visit.current().notes[key] = value

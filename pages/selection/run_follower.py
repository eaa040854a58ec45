"""Following a run that still trains: every new snapshot becomes the step, on whichever page the visitor is."""

from __future__ import annotations

import streamlit as st

from pages.controls import query_params
from pages.stores import runs, session
from pages.stores.model_choice import ModelChoice

POLL_S = 1.5
_KEY, _RUN = "nouns.follow", "nouns._followed"


def follows(model: ModelChoice) -> bool:
    """Whether this model is a run that still trains and the visitor follows it; then its newest step is taken."""
    if not _trains(model):
        return False
    if st.session_state.get(_RUN) != model.key:  # another run is followed only once it is asked for
        st.session_state[_RUN] = model.key
        st.session_state[_KEY] = False
    if not st.session_state.get(_KEY):
        return False
    query_params.take("step")
    query_params.want("step", str(model.steps[-1]))
    return True


def draw(model: ModelChoice) -> None:
    """The switch, under the step of a run that still trains."""
    if not _trains(model):
        return
    followed = st.toggle(
        "Follow the newest step",
        key=_KEY,
        help="This run still trains: every snapshot that it saves is shown as it comes.",
    )
    st.fragment(_watch, run_every=POLL_S)(model.key, model.steps[-1], followed)


def _trains(model: ModelChoice) -> bool:
    if not model.key.startswith("run:"):
        return False
    run = runs.find(model.key.removeprefix("run:"))
    return run is not None and runs.status(run).active


def _watch(key: str, newest: int, followed: bool) -> None:
    """Runs the page again when there is a newer step to follow, or none will come any more."""
    run = runs.find(key.removeprefix("run:"))
    runs.watch(session.current())
    if run is None or not runs.status(run).active or (followed and run.snapshots()[-1:] > [newest]):
        st.rerun()

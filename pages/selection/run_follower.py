"""Draw the toggle that follows a training run, so that each new snapshot becomes the selected step."""

import streamlit as st

from pages.controls import query_params
from pages.stores import runs, session
from pages.stores.model_choice import ModelChoice

POLL_S = 1.5
_KEY, _RUN = "nouns.follow", "nouns._followed"


def follow_newest_step(model: ModelChoice) -> bool:
    if not is_training(model):
        return False
    if st.session_state.get(_RUN) != model.key:  # following starts off for each run
        st.session_state[_RUN] = model.key
        st.session_state[_KEY] = False
    if not st.session_state.get(_KEY):
        return False
    query_params.take_value("step")
    query_params.request_value("step", str(model.steps[-1]))
    return True


def draw(model: ModelChoice) -> None:
    if not is_training(model):
        return
    is_followed = st.toggle(
        "Follow the newest step",
        key=_KEY,
        help="This run is training: each new snapshot is selected when it is saved.",
    )
    st.fragment(_poll, run_every=POLL_S)(model.key, model.steps[-1], is_followed)


def is_training(model: ModelChoice) -> bool:
    if not model.key.startswith("run:"):
        return False
    run = runs.find_run(model.key.removeprefix("run:"))
    return run is not None and runs.read_status(run).active


def _poll(key: str, newest: int, followed: bool) -> None:
    """Rerun the page when a newer snapshot exists or the run has ended."""
    run = runs.find_run(key.removeprefix("run:"))
    runs.mark_active(session.get_current())
    if run is None or not runs.read_status(run).active or (followed and run.snapshots()[-1:] > [newest]):
        st.rerun()

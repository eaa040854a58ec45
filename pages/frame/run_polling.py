"""Draw a run again and again while it trains, and rerun the page when it ends or was deleted."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import streamlit as st

from pages.stores import polling_rate, runs, session
from vitviz.training.run_directory import Run, RunError

POLL_S = 0.5
WATCHED = "_watched_run"  # session key: True if the run was active when it was drawn last


def rerun_if_deleted(draw: Callable[..., None]) -> Callable[..., None]:
    """Wrap a fragment so that it reruns the page, which reports missing runs, if one was deleted."""

    @wraps(draw)
    def draw_or_rerun(*args: Any) -> None:
        try:
            draw(*args)
        except (RunError, FileNotFoundError):
            flat = [entry for arg in args for entry in (arg if isinstance(arg, list) else [arg])]
            if all(run.exists() for run in flat if isinstance(run, Run)):
                raise
            st.rerun()

    return draw_or_rerun


def follow(run: Run, draw: Callable[[Run], None]) -> None:
    """Draw a run, again while it trains; rerun the page when it has ended, was resumed or was deleted."""
    active = st.session_state[WATCHED] = runs.read_status(run).active
    st.fragment(draw_followed, run_every=POLL_S * polling_rate.get_slowness() if active else None)(run, draw)


@rerun_if_deleted
def draw_followed(run: Run, draw: Callable[[Run], None]) -> None:
    """Draw a run, and rerun the page if polling must start or stop."""
    user = session.get_current()
    runs.mark_active(user)
    polling_rate.note_user(user.token)
    draw(run)
    active = runs.read_status(run).active
    if active != st.session_state.get(WATCHED):
        st.session_state[WATCHED] = active
        st.rerun()

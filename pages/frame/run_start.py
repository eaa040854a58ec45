"""Start runs from a page's buttons, once per click."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.controls import session_keys
from pages.stores import runs, session
from vitviz.text import reason

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run

_clicks = threading.Lock()  # held while session_keys.CLICKS_SERVED is read and raised


class NotStarted(Exception):
    """Raised when no run was started; its message follows 'Cannot start: '."""


def count_clicks() -> int:
    """Return how many clicks on start buttons this session has served."""
    return int(st.session_state.get(session_keys.CLICKS_SERVED, 0))


def claim_click(click: int) -> bool:
    """Return True for the first script run that serves this click, and False for its duplicates.

    Two script runs may serve one click, which has queued two runs of the same name.
    """
    with _clicks:
        if count_clicks() != click:
            return False
        st.session_state[session_keys.CLICKS_SERVED] = click + 1
        return True


def find_active_run(config: RunConfig) -> Run | None:
    """Return the user's queued or training run of exactly these models, if any."""
    user = session.get_current()
    for run in runs.list_runs(user):
        existing = run.config()
        requested = config.on_threads(existing.train.threads)  # fixed when a run starts
        same = (existing.preset, existing.members, existing.train) == (
            requested.preset,
            requested.members,
            requested.train,
        )
        if same and runs.is_maker(user, run) and runs.read_status(run).active:
            return run
    return None


def start_run(config: RunConfig, lease_s: float | None = runs.LEASE_S, **options: Any) -> Run:
    """Start a run of this user.

    Args:
        config: models and training.
        lease_s: the run stops after so many seconds without a viewer; None: never.
        options: further arguments of the executor's `start`.

    Raises:
        NotStarted: if the config is invalid, too many runs exist, or the folder is not writable.
    """
    from vitviz.training.executor import ExecutorError

    user = session.get_current()
    try:
        owned = replace(config, owner=user.owner, lease_s=lease_s)
        run = runs.get_executor().start(owned, session.get_address(), **options)
    except (ExecutorError, ValueError) as error:
        raise NotStarted(str(error)) from error
    except OSError as error:
        raise NotStarted(f"the runs' folder is not writable ({reason(error)})") from error
    runs.adopt_run(user, run.id)
    return run

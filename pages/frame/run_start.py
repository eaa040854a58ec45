"""A page's button that starts a run: once for each click, as the visit's own, and why it cannot, in a sentence."""

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

_clicks = threading.Lock()  # one at a time reads and raises state.STARTS


class NotStarted(Exception):
    """Why no run was started; the words after 'It cannot start: '."""


def clicks_served() -> int:
    """How many clicks on buttons that start runs this session has served; a button keeps it from when it was drawn."""
    return int(st.session_state.get(session_keys.STARTS, 0))


def serve(click: int) -> bool:
    """Whether this click is to be served now: the first to ask may, and a twin that comes after may not.

    Two runs of the script may serve one click: two runs of one name were once seen waiting.
    """
    with _clicks:
        if clicks_served() != click:
            return False
        st.session_state[session_keys.STARTS] = click + 1
        return True


def under_way(config: RunConfig) -> Run | None:
    """The visit's own run of exactly these models that waits or trains."""
    here = session.current()
    for run in runs.mine(here):
        own = run.config()
        asked = config.on_threads(own.train.threads)  # a run's are fixed as it starts
        same = (own.preset, own.members, own.train) == (asked.preset, asked.members, asked.train)
        if same and runs.made(here, run) and runs.status(run).active:
            return run
    return None


def start(config: RunConfig, lease_s: float | None = runs.LEASE_S, **given: Any) -> Run:
    """Starts a run of this visit.

    Args:
        config: what is trained.
        lease_s: after so long without anybody who watches it ends by itself; None: never.
        given: what the executor's `start` takes beside it.

    Raises:
        NotStarted: if it cannot be trained, there are too many already, or its folder cannot be written.
    """
    from vitviz.training.executor import ExecutorError

    here = session.current()
    try:
        owned = replace(config, owner=here.owner, lease_s=lease_s)
        run = runs.executor().start(owned, session.address(), **given)
    except (ExecutorError, ValueError) as error:
        raise NotStarted(str(error)) from error
    except OSError as error:
        raise NotStarted(f"the runs' folder cannot be written ({reason(error)})") from error
    runs.adopt(here, run.id)
    return run

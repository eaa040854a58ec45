"""Show the progress of background tasks, and rerun the page at their end."""

from collections.abc import Sequence
from typing import Any, TypeVar

import streamlit as st

from pages.stores import tasks as task_store
from pages.stores.tasks import BackgroundTask

R = TypeVar("R")
POLL_S = 0.7
FIRST_WAIT_S = 0.5  # quick tasks end within this time, so no progress bar flickers


def wait_for_results(tasks: Sequence[BackgroundTask[R]], activity: str) -> list[R] | None:
    """Return all results; if some are missing, draw the progress, rerun the page at the end, and return None.

    Args:
        activity: a title for the progress bar, such as 'Comparing the layers'.
    """
    waiting = [task for task in tasks if not task.ended]
    task_store.request(waiting)
    if waiting:
        waiting[-1].wait(FIRST_WAIT_S)
    if task_store.forget_failed(tasks):
        st.warning(f"{activity} failed. Choose another dataset or another model.")
        return None
    results = [task.result for task in tasks if task.result is not None]
    if len(results) == len(tasks):
        return results
    st.fragment(_draw_progress, run_every=POLL_S)(tuple(tasks), activity)
    return None


def _draw_progress(tasks: Sequence[BackgroundTask[Any]], activity: str) -> None:
    if all(task.ended for task in tasks):
        st.rerun()
    task_store.request(tasks)
    share = sum(1.0 if task.ended else task.share for task in tasks) / len(tasks)
    st.progress(share, f"{activity}: {100 * share:.0f} % done.")

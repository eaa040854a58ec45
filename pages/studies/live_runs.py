"""Start the experiment of a study as a run, which the live lab shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.controls import notices, widgets
from pages.frame import training_runs
from pages.selection import selection
from pages.stores import runs, session
from vitviz.config import name_fields
from vitviz.text import plain

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig

NOTICE = "studies._notice"


def draw_start_button(config: RunConfig | ValueError, key: str, label: str) -> None:
    """Draw the button that starts a run, or the reason why it cannot start, and the link to the newest such run."""
    problem = plain(name_fields(str(config))) if isinstance(config, ValueError) else ""
    widgets.button(
        label,
        key=f"{key}._start",
        type="primary",
        icon=":material/play_arrow:",
        why_not=problem,
        on_click=_start_run,
        args=(config, training_runs.count_clicks()),
    )
    if isinstance(config, ValueError):
        st.error(f"This cannot be trained: {problem}.", icon=":material/block:")
    elif run_id := find_newest_run(config):
        selection.link_to("live_lab", "Show these models in the live lab", **{"live_lab.run": run_id})
    notices.draw_notice(NOTICE)


def find_newest_run(config: RunConfig) -> str | None:
    """Return the session's newest run of the same experiment on the same dataset."""
    wanted = config.preset, config.train.dataset
    for run in runs.list_runs(session.get_current()):
        existing = run.config()
        if (existing.preset, existing.train.dataset) == wanted:
            return run.id
    return None


def _start_run(config: RunConfig, click: int) -> None:
    """Start a run once per click, unless the session's own equal run has not ended."""
    if not training_runs.claim_click(click):
        return
    if training_runs.find_active_run(config):
        notices.store_notice(NOTICE, "These models are being trained already.")
        return
    try:
        training_runs.start_run(config)
        notices.clear_notice(NOTICE)
    except training_runs.NotStarted as error:
        notices.store_notice(NOTICE, f"The run cannot start: {error}.")

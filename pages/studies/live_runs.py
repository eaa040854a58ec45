"""Start the experiment of a study as a run, which the live lab shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.frame import training_runs
from pages.selection import selection
from pages.stores import runs, session

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig


def draw_start_button(config: RunConfig | ValueError, name: str, label: str) -> None:
    """Draw the button that starts a run, or the reason why it cannot start, and the link to the newest such run."""
    training_runs.draw_start_button(label, config, training_runs.start_and_show, name=f"{name}._start")
    if isinstance(config, ValueError):
        refusal = training_runs.explain_refusal(config)
        st.error(f"This cannot be trained: {refusal}.", icon=":material/block:")
    elif run_id := find_newest_run(config):
        selection.link_to("live_lab", "Show these models in the live lab", **{"live_lab.run": run_id})
    training_runs.draw_notice()


def find_newest_run(config: RunConfig) -> str | None:
    """Return the session's newest run of the same experiment on the same dataset."""
    wanted = config.preset, config.train.dataset
    for run in runs.list_runs(session.get_current()):
        existing = run.config()
        if (existing.preset, existing.train.dataset) == wanted:
            return run.id
    return None

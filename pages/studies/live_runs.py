"""Train the experiment of a study live, and show the newest such run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pages.frame import page, run_panel, run_start
from pages.selection import selection
from pages.stores import runs, session

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run


def draw(config: RunConfig | ValueError, name: str, label: str, describe: Callable[[RunConfig], str]) -> None:
    """Draw the button that starts a run, or the reason why it cannot start, and the session's newest such run.

    Args:
        name: of the study.
        label: of the button.
        describe: returns the caption beside the button.
    """
    with page.row():
        run_start.draw_start_button(label, config, run_start.start_and_show, name=f"{name}._start")
        if not isinstance(config, ValueError):
            page.caption(describe(config))
    run_start.draw_notice()
    if isinstance(config, ValueError):
        refusal = run_start.explain_refusal(config)
        st.error(f"This cannot be trained: {refusal}.", icon=":material/block:")
    elif run := find_newest_run(config):
        run_start.follow([run], partial(run_panel.draw, run))
        selection.link_to("live_lab", "Show these models in the live lab", **{"live_lab.run": run.id})


def find_newest_run(config: RunConfig) -> Run | None:
    """Return the session's newest run of the same experiment on the same dataset."""
    wanted = config.preset, config.train.dataset
    configs = ((run, run.config()) for run in runs.list_runs(session.get_current()))
    return next((run for run, own in configs if (own.preset, own.train.dataset) == wanted), None)

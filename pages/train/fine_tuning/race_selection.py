"""Select the race that is shown: the link's, or the session's newest."""

from __future__ import annotations

import streamlit as st

from pages.controls import session_keys, widgets
from pages.stores import runs, session
from pages.train.fine_tuning.race_controls import RaceControls
from vitviz.data.datasets import data_title
from vitviz.training.fine_tuning import PRESET
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run


def adopt_linked() -> str | None:
    """Takes up the race whose unguessable name the link holds; a sentence where it is gone."""
    asked = st.session_state.get(session_keys.REQUESTED, {}).get(
        RaceControls.key("run")
    )  # the page holds what its link says
    if asked and not runs.adopt_run(session.get_current(), asked):
        return "The race of this link was deleted or has expired on this server."
    return None


def choose_race() -> Run | None:
    """Draws the choice where there are several races; None where there is none."""
    mine = {run.id: run for run in runs.list_runs(session.get_current()) if run.config().preset == PRESET}
    if not mine:
        return None
    count = len(mine)
    names = {name: f"{count - i}. {_name_race(run.config())}" for i, (name, run) in enumerate(mine.items())}
    widgets.resolve_option(RaceControls.key("run"), tuple(mine))
    if count == 1:
        widgets.store_value(RaceControls.key("run"), next(iter(mine)))
        return next(iter(mine.values()))
    return mine[
        widgets.select(RaceControls.key("run"), "Race shown", tuple(mine), format_func=names.__getitem__)
    ]


def _name_race(config: RunConfig) -> str:
    return f"{config.name}: {data_title(config.train.dataset)}"

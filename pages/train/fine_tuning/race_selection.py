"""Select the displayed race: that of the permalink, or the session's newest."""

import streamlit as st

from pages.controls import notices, session_keys, widgets
from pages.stores import runs, session
from pages.train.fine_tuning.race_controls import RaceControls
from vitviz.data.datasets import data_title
from vitviz.training.fine_tuning_race import PRESET
from vitviz.training.run_directory import Run

NOTICE = "fine_tuning._notice"
RACE_MISSING = "The run of this link was deleted or has expired on this server."


def adopt_linked() -> None:
    """Add the permalink's race to the session, or store a notice if it does not exist."""
    requested, key = st.session_state.get(session_keys.REQUESTED, {}), RaceControls.key("run")
    if key not in requested:
        return
    adopted = runs.adopt_run(session.get_current(), requested[key])
    notices.store_notice(NOTICE, "" if adopted else RACE_MISSING)
    if not adopted:
        del requested[key]  # without a race no control takes it


def choose_race() -> Run | None:
    """Draw the selection among the session's races; return None if there is none."""
    races = {run.id: run for run in runs.list_runs(session.get_current()) if run.config().preset == PRESET}
    if not races:
        return None
    count = len(races)
    configs = [run.config() for run in races.values()]
    titles = [f"{count - i}. {c.name}: {data_title(c.train.dataset)}" for i, c in enumerate(configs)]
    names = dict(zip(races, titles, strict=True))
    widgets.resolve_option(RaceControls.key("run"), tuple(races))
    if count == 1:
        widgets.store_value(RaceControls.key("run"), next(iter(races)))
        return next(iter(races.values()))
    return races[widgets.select(RaceControls.key("run"), "Race shown", names)]

"""Which race is looked at: the one that the link names, or the newest of this visit."""

from __future__ import annotations

import streamlit as st

from pages.controls import session_keys, widgets
from pages.stores import runs, session
from pages.train.fine_tuning.race_controls import Choice
from vitviz.data.datasets import data_title
from vitviz.training.fine_tuning import PRESET
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run


def adopt_linked() -> str | None:
    """Takes up the race whose unguessable name the link holds; a sentence where it is gone."""
    asked = st.session_state.get(session_keys.WANTED, {}).get(
        Choice.key("run")
    )  # the page holds what its link says
    if asked and not runs.adopt(session.current(), asked):
        return "The race of this link is gone: it was removed, or this server keeps it no longer."
    return None


def choose() -> Run | None:
    """Draws the choice where there are several races; None where there is none."""
    mine = {run.id: run for run in runs.mine(session.current()) if run.config().preset == PRESET}
    if not mine:
        return None
    count = len(mine)
    names = {name: f"{count - i}. {_named(run.config())}" for i, (name, run) in enumerate(mine.items())}
    widgets.settle_choice(Choice.key("run"), tuple(mine))
    if count == 1:
        widgets.keep(Choice.key("run"), next(iter(mine)))
        return next(iter(mine.values()))
    return mine[
        widgets.select(Choice.key("run"), "Race on the stage", tuple(mine), format_func=names.__getitem__)
    ]


def _named(config: RunConfig) -> str:
    return f"{config.name}: {data_title(config.train.dataset)}"

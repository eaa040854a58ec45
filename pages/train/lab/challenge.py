"""The class's challenge in the lab: what the form describes is handed in, as the challenge trains it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.classroom import membership
from pages.frame import run_start
from pages.train.lab import fields, keys, runs_table
from vitviz.classes import challenge as rules
from vitviz.classes.codes import spaced
from vitviz.classes.database import ClassError
from vitviz.text import plain
from vitviz.training.run_config import RunConfig


def draw(config: RunConfig | ValueError, show: Callable[[str], None]) -> None:
    """The row under the form, where the class has a challenge that takes runs.

    Args:
        config: what the form describes.
        show: brings a run onto the stage.
    """
    place = membership.current()
    if place is None or not place.challenge:
        return
    bounded = _bounded(config)
    why_not = ""
    if isinstance(bounded, ValueError):
        why_not = fields.said(str(bounded))
    with st.container(key="live_lab-challenge", border=True):
        words = f":material/trophy: **The challenge of {spaced(place.code)}.** {rules.TERMS}"
        st.markdown(words if not why_not else f"{words} Not yet: {plain(why_not)}.")
        st.button(
            "Hand it in",
            key="live_lab._hand_in",
            icon=":material/upload:",
            disabled=bool(why_not),
            on_click=_hand_in,
            args=(bounded, run_start.clicks_served(), show),
        )


def _bounded(config: RunConfig | ValueError) -> RunConfig | ValueError:
    try:
        return config if isinstance(config, ValueError) else rules.bounded(config)
    except ValueError as error:
        return error


def _hand_in(config: RunConfig, click: int, show: Callable[[str], None]) -> None:
    """Starts the run in its turn, the teacher's first one before all, and puts it onto the board."""
    place = membership.current()
    if place is None or not run_start.serve(click):
        return
    store = membership.store()
    try:
        if why := rules.why_full(store, place.code, place.who):
            keys.notice(f"It is not handed in: {why}.")
            return
        opens = place.leads and not any(entry.who == place.who for entry in rules.entries(store, place.code))
        run = run_start.start(runs_table.fresh(config), config.lease_s, first=opens)
        rules.hand_in(store, place.code, place.who, membership.name(), run.id)
    except (ClassError, run_start.NotStarted) as error:
        keys.notice(f"It is not handed in: {error}.")
        return
    show(run.id)

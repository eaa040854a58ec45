"""Let students submit the lab's settings as a run to their class's challenge."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.classroom import membership
from pages.frame import run_start
from pages.train.lab import keys, runs_table
from vitviz.classes import challenge as rules
from vitviz.classes.codes import format_code
from vitviz.classes.database import ClassError
from vitviz.config import name_fields
from vitviz.text import plain
from vitviz.training.run_config import RunConfig


def draw(config: RunConfig | ValueError, show: Callable[[str], None]) -> None:
    """Draw the row under the form if the class has an open challenge.

    Args:
        config: settings of the form, or the reason why they are invalid.
        show: callback that shows a run by its id.
    """
    classroom = membership.get_membership()
    if classroom is None or not classroom.challenge:
        return
    limited_config = _apply_limits(config)
    refusal = ""
    if isinstance(limited_config, ValueError):
        refusal = name_fields(str(limited_config))
    with st.container(key="live_lab-challenge", border=True):
        text = f":material/trophy: **Challenge of class {format_code(classroom.code)}.** {rules.TERMS}"
        st.markdown(text if not refusal else f"{text} Not yet: {plain(refusal)}.")
        st.button(
            "Submit this model",
            key="live_lab._hand_in",
            icon=":material/upload:",
            disabled=bool(refusal),
            on_click=_submit,
            args=(limited_config, run_start.count_clicks(), show),
        )


def _apply_limits(config: RunConfig | ValueError) -> RunConfig | ValueError:
    try:
        return config if isinstance(config, ValueError) else rules.apply_rules(config)
    except ValueError as error:
        return error


def _submit(config: RunConfig, click: int, show: Callable[[str], None]) -> None:
    """Queue the run and enter it into the ranking; a teacher's first run goes to the front of the queue."""
    classroom = membership.get_membership()
    if classroom is None or not run_start.claim_click(click):
        return
    store = membership.get_class_store()
    try:
        if refusal := rules.explain_full(store, classroom.code, classroom.who):
            keys.set_notice(f"The model was not submitted: {refusal}.")
            return
        goes_first = classroom.leads and not any(
            entry.who == classroom.who for entry in rules.load_entries(store, classroom.code)
        )
        run = run_start.start_run(runs_table.make_name_unique(config), config.lease_s, first=goes_first)
        rules.submit_run(store, classroom.code, classroom.who, membership.get_nickname(), run.id)
    except (ClassError, run_start.NotStarted) as error:
        keys.set_notice(f"The model was not submitted: {error}.")
        return
    show(run.id)

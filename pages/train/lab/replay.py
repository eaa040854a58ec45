"""The lab's stage before a first run: a shipped training that plays, and says that it is a recording."""

from __future__ import annotations

import streamlit as st

from pages.selection import substitute
from pages.stores import catalogue
from pages.train.lab import keys, run_view
from pages.train.lab.curves import curves
from pages.train.lab.recorded_run import Recording
from vitviz.plots.curves import RunLabel, payload
from vitviz.text import plain

# Snapshots lie at even steps of the logarithm: so the film moves evenly, and the first steps are the eventful ones.
VIEW = run_view.VIEW | {"log_x": True}


def draw_stage(recording: Recording) -> None:
    """Curves, and beside them what was recorded."""
    st.markdown(
        f":violet-badge[:material/replay: recorded] **{recording.choice.shown}**, a run that comes with vitviz."
    )
    stage, side = st.columns([2, 1], gap="medium")
    with stage:
        _curves(recording)
    with side:
        _inspector(recording)


def _curves(recording: Recording) -> None:
    moment, best = keys.remembered(keys.MOMENT), recording.records().best()
    mine = moment and moment["run"] == recording.id and not moment["follow"]
    label = RunLabel(recording.id, recording.choice.title, 0, {}, None if best is None else best[0])
    _, marked = curves(
        payload(
            [label],
            run_view.series_of(recording.id, recording.records()),
            recording.id,
            moment["step"] if mine else None,
            VIEW,
            film=True,
        ),
        key="live_lab.recorded",
    )
    if marked is not None:
        keys.remember(keys.MOMENT, {"run": recording.id, "step": marked, "follow": False})


def _inspector(recording: Recording) -> None:
    """That it is a recording, of what, and what came of it: numbers of the file."""
    log, choice = recording.records(), recording.choice
    speed = log.training()[-1]
    run_view.draw_metrics(log, float(speed[-1]) if len(speed) else 0.0)
    data = plain(catalogue.data_title(str(choice.trained_on)))
    st.caption(
        f"This is a recording, not a run of yours: nothing trains now. It learned {data}: {_made(recording)}."
        " 'Start a new run' trains your own, and it takes this place."
    )
    if said := substitute.picture(choice)[1]:
        st.caption(said)


def _made(recording: Recording) -> str:
    """Its length, when and where."""
    card, log = catalogue.header(recording.path).card, recording.records()
    seconds = max(float(table[2].max(initial=0.0)) for table in (log.training(), log.validation()))
    words = f"{recording.choice.last_step:,} steps in {run_view.clock(seconds)}"
    when, machine = (str(card.get(name, "")) for name in ("date", "machine"))
    return (
        words + (f" on {plain(when)}" if when else "") + (f" ({plain(machine)}, one seed)" if machine else "")
    )

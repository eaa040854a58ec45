"""Play the recorded training of a shipped model until the user has runs of their own."""

import streamlit as st

from pages.frame import page
from pages.stores import catalogue
from pages.train.lab import keys, run_view
from pages.train.lab.browser_views import mount_curves
from pages.train.lab.recorded_run import Recording
from vitviz.plots.curves import RunLabel, payload
from vitviz.plots.theme import family_colors
from vitviz.text import plain

# Snapshots are spaced evenly on a logarithmic axis, so playback moves at a constant speed along it.
VIEW = run_view.VIEW | {"log_x": True}


def draw_stage(recording: Recording) -> None:
    st.markdown(f":violet-badge[:material/replay: recorded] **{recording.choice.shown}**")
    _draw_curves(recording)


def draw_provenance(recording: Recording) -> None:
    """Draw the recording's test accuracy and how it was trained."""
    st.caption(
        f"{run_view.describe_test(recording.records())} 'Start training' shows your run instead.".strip()
    )
    page.provenance(_describe_recording(recording))


def _draw_curves(recording: Recording) -> None:
    moment, best = keys.load_note(keys.MOMENT), recording.records().best()
    is_selected = moment and moment["run"] == recording.id and not moment["follow"]
    (color,) = family_colors([recording.choice.config.family])
    label = RunLabel(recording.id, recording.choice.title, color, {}, None if best is None else best[0])
    _, selected_step = mount_curves(
        payload(
            [label],
            run_view.build_series(recording.id, recording.records()),
            recording.id,
            moment["step"] if is_selected else None,
            VIEW,
            film=True,
        ),
        key="live_lab.recorded",
    )
    if selected_step is not None:
        keys.save_note(keys.MOMENT, {"run": recording.id, "step": selected_step, "follow": False})


def _describe_recording(recording: Recording) -> str:
    card, log = catalogue.read_header(recording.path).card, recording.records()
    seconds = max(float(table[2].max(initial=0.0)) for table in (log.training(), log.validation()))
    text = f"{recording.choice.last_step:,} steps in {run_view.format_duration(seconds)}"
    date, machine = (plain(str(card.get(name, ""))) for name in ("date", "machine"))
    return text + (f" on {date}" if date else "") + (f" ({machine}, one seed)" if machine else "")

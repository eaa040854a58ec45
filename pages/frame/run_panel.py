"""Draw the panel of a run: its state, progress and buttons, changes during training, and the race of its models."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pages.controls import widgets
from pages.frame import page, run_start
from pages.frame.run_start import page_key
from pages.frame.run_state import get_state_label
from pages.stores import runs, session, shared_cache
from pages.views import figures
from vitviz.analysis import race as results
from vitviz.config import name_fields
from vitviz.plots import race as plots
from vitviz.text import plain, reason

if TYPE_CHECKING:
    from vitviz.training.run_directory import Run, Status

NBSP = "\N{NO-BREAK SPACE}"
LONG_S = 600.0  # longer remaining times are rounded to minutes
SLOW_START_S = 3.0  # a cold worker loads its libraries first
CHANGEABLE = {"learning_rate": "peak learning rate", "weight_decay": "weight decay"}
RATES = (("learning_rate", "Peak learning rate", 5e-4), ("weight_decay", "Weight decay", 0.01))
READ_ONLY = "Read-only: this run belongs to another session. 'Copy settings' in the live lab fills the form for yours."
# Session keys.
STOPPING = "_stopping"  # id of the run that is finishing its last step
REFUSAL = "_refused_change"  # (run id, why a change was refused), shown until the next change
SHOWN_RATES = "_shown_rates"  # (run id, its rates when first shown, and at the last poll)


# ---------------------------------------------------------------- a run of several models


def draw(run: Run, draw_results: Callable[[Run, Status], None] | None = None) -> None:
    """Draw a run of several models: its state beside its buttons, and its results, by default its race."""
    status = runs.read_status(run)
    state_column, steering_column = st.columns([1.2, 1], gap="medium")
    with state_column:
        draw_state(run, status)
    with steering_column:
        draw_steering(run, status, _describe_speed(status, len(runs.list_models(run))))
    (draw_results or draw_race)(run, status)


def _describe_speed(status: Status, count: int) -> str:
    speed = (
        f" {status.images_per_second:,.0f} images per second in total." if status.images_per_second else ""
    )
    precision = f" Precision: {status.precision}." if status.precision else ""
    return f"{count} models {'train' if status.active else 'trained'} in alternating steps.{speed}{precision}"


def draw_race(run: Run, status: Status) -> None:
    """Draw the validation accuracy of a run's models, and their accuracy with shuffled patches."""
    config = run.config()
    chance, waiting = 1 / config.model.num_classes, runs.describe_missing_curve(status)
    race = plots.payload(runs.list_racers(run), chance, config.longest or 1.0, waiting)
    figures.draw_race(race, key=page_key("race_view"))
    page.caption(describe_race(run) or f"Dotted line: chance level of {config.model.num_classes} classes.")


def describe_race(run: Run) -> str:
    """Describe the results of a run's models in Markdown; '' before the first."""
    # Titles and classes of an uploaded run come from another user.
    escaped = [replace(racer, title=plain(racer.title)) for racer in runs.list_racers(run)]
    return results.describe_race(escaped, tuple(map(plain, _load_classes(run))))


def _load_classes(run: Run) -> tuple[str, ...]:
    """Return the class names from a snapshot, or numbers before the first one."""
    member = runs.list_models(run)[0]
    steps = member.snapshots()
    if not steps:
        return tuple(map(str, range(run.config().model.num_classes)))
    return _read_classes(str(member.snapshot_path(steps[0])))


@shared_cache.shared(max_entries=64)
def _read_classes(path: str) -> tuple[str, ...]:
    from vitviz.checkpoint_header import read_header

    return tuple(read_header(path).classes)


# ---------------------------------------------------------------- state and progress


def draw_state(run: Run, status: Status) -> None:
    st.markdown(f"**{plain(run.config().name)}** {get_state_label(status).badge}")
    st.progress(min(max(status.progress, 0.0), 1.0), text=_describe_progress(run, status))


def draw_steering(run: Run, status: Status, summary: str) -> None:
    """Draw the run's buttons and its latest message, or `summary` if there is none."""
    _draw_buttons(run, status)
    if status.active and st.session_state.get(STOPPING) == run.id:
        summary = "Stopping after the current step…"
    message = runs.describe_status(session.get_current(), run, status) or get_state_label(status).sentence
    if status.state in ("failed", "diverged", "interrupted"):
        st.error(format_sentence(message), icon=":material/info:")
    else:
        # A run that stopped early shows the reason and its accuracies; other messages stand alone.
        sentences = [format_sentence(message)] if message else []
        st.caption(" ".join(sentences + [summary] if status.state == "done" or not sentences else sentences))
    if changes_text := _describe_changes(run, runs.open_log(run.id)):
        st.caption(changes_text)


def _describe_progress(run: Run, status: Status) -> str:
    if status.state == "queued":
        place = runs.get_executor().queue_position(run)
        if place is not None:
            reasons = (runs.get_executor().trouble(), runs.describe_own_training(session.get_current()))
            return "; ".join(filter(None, (f"Waiting in the queue: position {place}", *reasons)))
        slow = time.time() - status.heartbeat > SLOW_START_S
        return "Starting… loading the trainer" if slow else "Starting…"
    progress = runs.describe_progress(run.config(), status)
    if status.state == "running" and status.seconds_left is not None:
        # Must fit one line: otherwise the buttons below move when a click pauses the run, and the next click misses.
        minutes = f"{round(status.seconds_left / 60):,}{NBSP}min"
        return f"{progress} · {format_duration(status.seconds_left) if status.seconds_left < LONG_S else minutes} left"
    return f"{progress} · {format_duration(status.seconds)} of training"


def format_duration(seconds: float) -> str:
    """Format seconds, from two minutes on as minutes and seconds."""
    if seconds < 9.95:
        return f"{seconds:.1f}{NBSP}s"
    rounded_s = round(seconds)
    if rounded_s < 120:
        return f"{rounded_s}{NBSP}s"
    return f"{rounded_s // 60}{NBSP}min {rounded_s % 60:02d}{NBSP}s"


def list_changes(run: Run, log: runs.RunLog) -> list[tuple[int, str, float, float]]:
    """Return the changes during training as (step, name, before, after)."""
    rates = {name: getattr(run.config().train, name) for name in CHANGEABLE}
    changes = []
    for event in log.events:
        if event.get("event") != "changed":
            continue
        for name in CHANGEABLE:
            rate = event.get(name)
            if isinstance(rate, int | float) and rate != rates[name]:
                changes.append((int(event["step"]), name, rates[name], rate))
                rates[name] = rate
    return changes


def _describe_changes(run: Run, log: runs.RunLog) -> str:
    """Return a sentence about the last three changes during training."""
    changes = [
        f"{CHANGEABLE[name]} {before:g} → {after:g} at step {step:,}"
        for step, name, before, after in list_changes(run, log)
    ]
    return f"Changed during training: {'; '.join(changes[-3:])}." if changes else ""


# ---------------------------------------------------------------- buttons


def _draw_buttons(run: Run, status: Status) -> None:
    user_session = session.get_current()
    if not runs.may_change(user_session, run):
        st.caption(READ_ONLY)
        return
    executor = runs.get_executor()
    resume = partial(executor.resume, address=session.get_address())
    waiting = "the run has not started" if status.state == "queued" else ""
    with st.container(horizontal=True, gap="small"):
        if status.active:
            if status.state == "paused":
                _draw_button(run, "Resume", "play_arrow", resume)
            else:
                _draw_button(run, "Pause", "pause", executor.pause, why_not=waiting)
            _draw_button(run, "Step", "skip_next", executor.step, why_not=waiting)
            _draw_button(run, "Stop", "stop", executor.stop)
        elif status.state != "done":
            diverged = "the run diverged" if status.state == "diverged" else ""
            _draw_button(run, "Resume", "play_arrow", resume, why_not=diverged)
    if status.active and status.state != "queued" and run.config().has_one_rate:
        draw_live_settings(run, status)


def _draw_button(run: Run, label: str, icon: str, act: Callable[[Run], object], why_not: str = "") -> None:
    # A callback handles the click, because a fragment rerun that is overtaken before this line would lose it.
    pressed = widgets.button(
        label,
        key=page_key(f"_{label.lower()}_{run.id}"),  # a click must not reach the run that is shown next
        icon=f":material/{icon}:",
        why_not=why_not,
        on_click=_send_command,
        args=(run, act, label == "Stop"),
        width="stretch",
    )
    if pressed:
        st.rerun()


def _send_command(run: Run, act: Callable[[Run], object], stops: bool) -> None:
    from vitviz.training.executor import ExecutorError

    # Editing may have been revoked since the button was drawn.
    if not runs.may_change(session.get_current(), run):
        return
    try:
        act(run)
    except (ExecutorError, ValueError) as error:  # the run may have been deleted
        run_start.set_notice(f"{error}.")
    except OSError as error:
        run_start.set_notice(f"The command could not be written to the run's folder ({reason(error)}).")
    else:
        run_start.set_notice("")
        st.session_state[STOPPING] = run.id if stops else None


def draw_live_settings(run: Run, status: Status) -> None:
    """Draw both controls in a popover; a change is sent to the trainer."""
    with st.popover("Change during training", icon=":material/tune:", width="stretch"):
        st.caption("Both apply from the next step on; all other settings need a new run.")
        current_rates = status if status.learning_rate else run.config().train
        for name, label, step in RATES:
            rate = getattr(current_rates, name)
            st.number_input(
                label,
                value=_sync_default(run, name, rate),
                step=step,
                format="%g",
                key=_get_rate_key(run, name),
                on_change=apply_change,
                args=(run, name),
            )
        refused_id, refusal = st.session_state.get(REFUSAL, ("", ""))
        if refused_id == run.id:
            st.error(refusal)


def _get_rate_key(run: Run, name: str) -> str:
    return page_key(f"_set_{name}_{run.id}")


def _sync_default(run: Run, name: str, rate: float) -> float:
    """Return the control's default, and show a rate that another tab or editor has set.

    The default stays at the rate first shown: Streamlit would report a moving default as the user's change.
    """
    run_id, first_rates, last_rates = st.session_state.get(SHOWN_RATES, ("", {}, {}))
    if run_id != run.id:  # only the rates of the shown run are stored
        first_rates, last_rates = {}, {}
        st.session_state[SHOWN_RATES] = (run.id, first_rates, last_rates)
    if last_rates.setdefault(name, rate) != rate:
        st.session_state[_get_rate_key(run, name)] = last_rates[name] = rate
    return float(first_rates.setdefault(name, rate))


def apply_change(run: Run, name: str) -> None:
    """Send the control's value to the trainer if the user may change the run; a callback."""
    rate = st.session_state[_get_rate_key(run, name)]
    if not runs.may_change(session.get_current(), run):
        return
    try:
        run.control("set", **{name: float(rate)})
    except (ValueError, OSError) as error:
        st.session_state[REFUSAL] = (
            run.id,
            format_sentence(name_fields(reason(error))),
        )
    else:
        st.session_state.pop(REFUSAL, None)


def format_sentence(text: str) -> str:
    """Return a message as a capitalized sentence, escaped for Markdown."""
    text = text.strip()
    return plain(text[:1].upper() + text[1:] + ("" if text.endswith((".", "…")) else "."))

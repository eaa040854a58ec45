"""Draw the shown runs' training curves, and the inspector with state, metrics and buttons."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import training_runs
from pages.stores import record_arrays, runs, session
from pages.train.lab import lab_controls
from pages.views.event_values import read_fields, read_index, read_like
from pages.views.register import register
from vitviz.analysis.run_comparison import time_to_accuracy
from vitviz.config import name_fields
from vitviz.experiments.lecture_results import find_printed_line
from vitviz.plots.theme import variant_colors
from vitviz.plots.training_curves import RunLabel, Series, payload
from vitviz.text import percent, plain, reason

if TYPE_CHECKING:
    from vitviz.config import TrainConfig
    from vitviz.training.run_directory import Run, Status

NBSP = "\N{NO-BREAK SPACE}"
LONG_S = 600.0  # longer remaining times are rounded to minutes
SLOW_START_S = 3.0  # a cold worker loads its libraries first
LEVELS = (0.90, 0.95, 0.98)
CHANGEABLE = {"learning_rate": "peak learning rate", "weight_decay": "weight decay"}
SHORT = {"learning_rate": "lr", "weight_decay": "decay"}  # labels on the curves
VIEW = {"axis": "step", "smoothing": 0.6, "log": False, "log_x": False, "extra": 0}

READ_ONLY = "Read-only: this run belongs to another session. 'Copy settings' fills the form for your own run."
_curves = register(__file__, "curves")
RATES = (("learning_rate", "Peak learning rate", 5e-4), ("weight_decay", "Weight decay", 0.01))


@dataclass(frozen=True)
class StateLabel:
    """The display of a run's state: a word, a badge and, if needed, a sentence."""

    word: str
    colour: str = "gray"
    icon: str = "help"
    sentence: str = ""

    @property
    def badge(self) -> str:
        return f":{self.colour}-badge[:material/{self.icon}: {self.word}]"


STATES = {
    "new": StateLabel("new", "gray", "hourglass_empty"),
    "queued": StateLabel("waiting", "gray", "hourglass"),
    "starting": StateLabel("starting", "blue", "sync", "The images are being prepared."),
    "running": StateLabel("training", "green", "play_arrow"),
    "paused": StateLabel("paused", "gray", "pause"),
    "done": StateLabel("done", "green", "check"),
    "stopped": StateLabel("stopped", "gray", "stop"),
    "diverged": StateLabel("diverged", "red", "error"),
    "failed": StateLabel("failed", "red", "error"),
    "interrupted": StateLabel("interrupted", "red", "power_off"),
}


def get_state_label(status: Status) -> StateLabel:
    return STATES.get(status.state, StateLabel("unknown"))


def draw_curves(shown: list[Run], focus: Run) -> None:
    series = [series for run in shown for series in build_series(run.id, runs.open_log(run.id).read())]
    series += _load_printed_series(focus)
    settings = read_like(lab_controls.load_note(lab_controls.VIEW), VIEW)
    if view := draw_series(_build_labels(shown), series, focus.id, settings, "live_lab.curves"):
        lab_controls.save_note(lab_controls.VIEW, view)


def draw_series(
    labels: list[RunLabel],
    series: list[Series],
    run_id: str,
    view: dict[str, Any],
    key: str,
    film: bool = False,
) -> dict[str, Any] | None:
    """Draw curves and store the step that a click selects; return the toolbar's state once it was changed.

    Args:
        run_id: of the run whose step is selected.
        view: the toolbar's state at first.
        film: True for a recording, whose curves are faint after the selected step.
    """
    moment = lab_controls.load_note(lab_controls.MOMENT)
    step = moment["step"] if moment and moment["run"] == run_id and not moment["follow"] else None
    message = payload(labels, series, run_id, step, view, film=film)
    events = _curves(message, key=key, states=("view",), triggers=("moment",))
    if (marked_step := read_index(events.moment)) is not None:
        lab_controls.save_note(lab_controls.MOMENT, {"run": run_id, "step": marked_step, "follow": False})
    return read_fields(events.view) or None


def _load_printed_series(run: Run) -> list[Series]:
    """Return the lecture's printed results for an unchanged recipe, else nothing."""
    printed, epochs = find_printed_line(run.config()), run.config().train.epochs
    status = runs.read_status(run)
    if printed is None or not status.total_steps or not epochs:
        return []
    epoch = np.arange(1, len(printed.values) + 1, dtype=np.float64)
    x = np.stack([epoch * status.total_steps / epochs, epoch, np.full(len(epoch), np.nan)])
    return [Series(printed.name, "train", x, {printed.metric: np.array(printed.values)}, printed.name)]


def build_series(run_id: str, log: record_arrays.Records) -> list[Series]:
    training, validation = log.training(), log.validation()
    return [
        Series(
            run_id, "train", training[:3], dict(zip(record_arrays.STEP_METRICS, training[3:], strict=True))
        ),
        Series(
            run_id,
            "validation",
            validation[:3],
            dict(zip(record_arrays.EVALUATION_METRICS, validation[3:], strict=True)),
            images=log.images,
        ),
    ]


def _build_labels(shown: list[Run]) -> list[RunLabel]:
    best = {run.id: runs.open_log(run.id).read().best() for run in shown}
    top = max((record[1] for record in best.values() if record), default=None)
    colors = variant_colors([run.config().model.family for run in shown])
    labels = []
    for run, color in zip(shown, colors, strict=True):
        status, config, best_record = run.status(), run.config(), best[run.id]
        labels.append(
            RunLabel(
                id=run.id,
                name=runs.name_model(run),
                color=color,
                total=_get_total(status, config.train),
                best_step=None if best_record is None else best_record[0],
                leads=best_record is not None and best_record[1] == top,
                changes=[
                    (step, f"{SHORT[name]} {changed_to:g}")
                    for step, name, _, changed_to in _list_changes(run, runs.open_log(run.id))
                ],
            )
        )
    return labels


def _get_total(status: Status, train: TrainConfig) -> dict[str, float]:
    """Return the run's total length per axis; a finished run ends with its curves."""
    if status.state == "done":
        return {}
    if train.seconds:
        return {"seconds": train.seconds}
    return {"step": status.total_steps, "epoch": train.epochs} if status.total_steps and train.epochs else {}


def draw_run(shown: list[Run], run: Run) -> None:
    """Draw the run's state, the curves of the shown runs, its buttons and a sentence about its accuracies."""
    status, log = runs.read_status(run), runs.open_log(run.id)
    draw_state(run, status)
    draw_curves(shown, run)
    draw_steering(run, status, _describe_accuracies(run, log, status))


def draw_state(run: Run, status: Status) -> None:
    st.markdown(f"**{plain(run.config().name)}** {get_state_label(status).badge}")
    st.progress(min(max(status.progress, 0.0), 1.0), text=_describe_progress(run, status))


def draw_steering(run: Run, status: Status, summary: str) -> None:
    """Draw the run's buttons and its latest message, or `summary` if there is none."""
    _draw_buttons(run, status)
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
            trouble = runs.get_executor().trouble()
            return f"Waiting in the queue: position {place}{trouble and f'; {trouble}'}"
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


def describe_test(log: record_arrays.Records) -> str:
    """Return a sentence about the accuracy on the test images, evaluated once after training, or ''."""
    return "" if log.test is None else f"Test accuracy {percent(log.test['accuracy'])}."


def _describe_accuracies(run: Run, log: runs.RunLog, status: Status) -> str:
    """Return a sentence about the accuracies so far, or why there are none."""
    if status.active and st.session_state.get(lab_controls.STOPPING) == run.id:
        return "Stopping after the current step…"
    table = log.validation()
    if not table.shape[1]:
        return runs.describe_missing_curve(status, bool(log.training().shape[1]))
    reached_levels = [
        f"{percent(level, 0)} after {format_duration(seconds)}"
        for level in LEVELS
        if (seconds := time_to_accuracy(table[2], table[-1], level)) is not None
    ]
    best = log.best()
    band = (
        f" Band: 95\N{NO-BREAK SPACE}% interval over {log.images:,} validation images." if log.images else ""
    )
    best_text = f"Best validation accuracy {percent(best[1])} at step {best[0]:,}.{band}" if best else ""
    least = percent(LEVELS[0], 0)
    missed = f" {least} not reached yet." if status.active else f" {least} not reached."
    reached = f" Reached {', '.join(reached_levels)}." if reached_levels else missed
    precision = f" Precision: {status.precision}." if status.precision else ""
    train = run.config().train
    is_soft = train.label_smoothing or train.mixup_alpha or train.cutmix_alpha
    labels = " The training loss is computed with soft labels, the validation loss is not." if is_soft else ""
    return " ".join(filter(None, (describe_test(log), best_text))) + reached + precision + labels


def _list_changes(run: Run, log: runs.RunLog) -> list[tuple[int, str, float, float]]:
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
        for step, name, before, after in _list_changes(run, log)
    ]
    return f"Changed during training: {'; '.join(changes[-3:])}." if changes else ""


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
    if status.active and status.state != "queued":
        draw_live_settings(run, status)


def _draw_button(run: Run, label: str, icon: str, act: Callable[[Run], object], why_not: str = "") -> None:
    # A callback handles the click, because a fragment rerun that is overtaken before this line would lose it.
    pressed = widgets.button(
        label,
        key=f"live_lab._{label.lower()}",
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
        training_runs.set_notice(f"{error}.")
    except OSError as error:
        training_runs.set_notice(f"The command could not be written to the run's folder ({reason(error)}).")
    else:
        training_runs.set_notice("")
        st.session_state[lab_controls.STOPPING] = run.id if stops else None


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
        refused_id, refusal = st.session_state.get(lab_controls.REFUSAL, ("", ""))
        if refused_id == run.id:
            st.error(refusal)


def _get_rate_key(run: Run, name: str) -> str:
    return f"live_lab._set_{name}_{run.id}"


def _sync_default(run: Run, name: str, rate: float) -> float:
    """Return the control's default, and show a rate that another tab or editor has set.

    The default stays at the rate first shown: Streamlit would report a moving default as the user's change.
    """
    run_id, first_rates, last_rates = st.session_state.get(lab_controls.SHOWN_RATES, ("", {}, {}))
    if run_id != run.id:  # only the rates of the shown run are stored
        first_rates, last_rates = {}, {}
        st.session_state[lab_controls.SHOWN_RATES] = (run.id, first_rates, last_rates)
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
        st.session_state[lab_controls.REFUSAL] = (
            run.id,
            format_sentence(name_fields(reason(error))),
        )
    else:
        st.session_state.pop(lab_controls.REFUSAL, None)


def format_sentence(text: str) -> str:
    """Return a message as a capitalized sentence, escaped for Markdown."""
    text = text.strip()
    return plain(text[:1].upper() + text[1:] + ("" if text.endswith((".", "…")) else "."))

"""The lab's stage: curves of the shown runs, and beside them how the chosen run stands and what steers it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.stores import records, runs, session
from pages.train.lab import keys, live_settings
from pages.train.lab.curves import curves
from pages.train.lab.live_settings import sentence
from pages.views.event_values import like
from vitviz.analysis.milestones import time_to
from vitviz.experiments.lecture_results import printed_of
from vitviz.plots.curves import RunLabel, Series, payload
from vitviz.text import percent, plain, reason

if TYPE_CHECKING:
    from vitviz.config import TrainConfig
    from vitviz.training.run_directory import Run, Status

NBSP = "\N{NO-BREAK SPACE}"
LONG_S = 600.0  # from here on no seconds are counted
SLOW_START_S = 3.0  # a worker that is not warm loads its libraries first
LEVELS = (0.90, 0.95, 0.98)
CHANGEABLE = {"learning_rate": "peak learning rate", "weight_decay": "weight decay"}
SHORT = {"learning_rate": "lr", "weight_decay": "decay"}  # on the curves
VIEW = {"axis": "step", "smoothing": 0.6, "log": False, "log_x": False, "extra": 0}

READ_ONLY = (
    "This run is another visit's: its link shows it, and its maker steers it."
    " 'Copy settings' begins one of your own."
)


@dataclass(frozen=True)
class State:
    """How a run's state is said: a word, its badge, and a sentence where it needs one."""

    word: str
    colour: str = "gray"
    icon: str = "help"
    sentence: str = ""

    @property
    def badge(self) -> str:
        """Markdown."""
        return f":{self.colour}-badge[:material/{self.icon}: {self.word}]"


STATES = {
    "new": State("new", "gray", "hourglass_empty"),
    "queued": State("waiting", "orange", "hourglass"),
    "starting": State("starting", "blue", "sync", "The pictures are being prepared."),
    "running": State("training", "green", "play_arrow"),
    "paused": State("paused", "orange", "pause"),
    "done": State("done", "green", "check"),
    "stopped": State("stopped", "gray", "stop"),
    "diverged": State("diverged", "red", "error"),
    "failed": State("failed", "red", "error"),
    "interrupted": State("interrupted", "red", "power_off"),
}


def state(status: Status) -> State:
    """How a run stands."""
    return STATES.get(status.state, State("unknown"))


def draw_curves(shown: list[Run], focus: Run | None, colours: Sequence[int] = ()) -> None:
    """The curves of these runs; a mark on them moves the timeline. `colours`: each one's place among the curves'."""
    moment = keys.remembered(keys.MOMENT)
    at = None
    if focus is not None and moment and moment["run"] == focus.id and not moment["follow"]:
        at = moment["step"]
    view, marked = curves(
        payload(
            _labels(shown, colours or range(len(shown))),
            [series for run in shown for series in _series(run)] + _printed(focus),
            None if focus is None else focus.id,
            at,
            like(keys.remembered(keys.VIEW), VIEW),
        ),
        key="live_lab.curves",
    )
    if view:
        keys.remember(keys.VIEW, view)
    if marked is not None and focus is not None:
        keys.remember(keys.MOMENT, {"run": focus.id, "step": marked, "follow": False})


def _series(run: Run) -> list[Series]:
    return series_of(run.id, runs.log(run.id).read())


def _printed(run: Run | None) -> list[Series]:
    """What the lecture printed of the same recipe, as a ghost; nothing of any other, or of one that was changed."""
    found = None if run is None else printed_of(run.config())
    if run is None or found is None:
        return []
    status, epochs = runs.status(run), run.config().train.epochs
    if not status.total_steps or not epochs:
        return []
    epoch = np.arange(1, len(found.values) + 1, dtype=np.float64)
    x = np.stack([epoch * status.total_steps / epochs, epoch, np.full(len(epoch), np.nan)])
    return [Series(found.name, "train", x, {found.metric: np.array(found.values)}, found.name)]


def series_of(run_id: str, log: records.Records) -> list[Series]:
    """The curves of what one training recorded."""
    training, validation = log.training(), log.validation()
    return [
        Series(run_id, "train", training[:3], dict(zip(records.STEP_METRICS, training[3:], strict=True))),
        Series(
            run_id,
            "validation",
            validation[:3],
            dict(zip(records.EVALUATION_METRICS, validation[3:], strict=True)),
        ),
    ]


def _labels(shown: list[Run], colours: Sequence[int]) -> list[RunLabel]:
    best = {run.id: runs.log(run.id).read().best() for run in shown}
    top = max((value[1] for value in best.values() if value), default=None)
    labels = []
    for run, colour in zip(shown, colours, strict=False):
        status, config, found = run.status(), run.config(), best[run.id]
        labels.append(
            RunLabel(
                id=run.id,
                name=runs.called(run),
                color=colour,
                total=_total(status, config.train),
                best_step=None if found is None else found[0],
                leads=found is not None and found[1] == top,
                changes=[
                    (step, f"{SHORT[name]} {now:g}") for step, name, _, now in _changed(run, runs.log(run.id))
                ],
            )
        )
    return labels


def _total(status: Status, train: TrainConfig) -> dict[str, float]:
    """How long a run will be, on the axes that know it; one that is done is as long as its curves."""
    if status.state == "done":
        return {}
    if train.seconds:
        return {"seconds": train.seconds}
    return {"step": status.total_steps, "epoch": train.epochs} if status.total_steps and train.epochs else {}


def draw_inspector(run: Run) -> None:
    """How the run stands, in words and numbers, and the buttons that steer it."""
    status, log = runs.status(run), runs.log(run.id)
    draw_state(run, status)
    draw_metrics(log, status.images_per_second)
    draw_steering(run, status, _reached(run, log, status))


def draw_state(run: Run, status: Status) -> None:
    """The run's name, what it is doing, and how far it is."""
    st.markdown(f"**{plain(run.config().name)}** {state(status).badge}")
    st.progress(min(max(status.progress, 0.0), 1.0), text=_progress_words(run, status))


def draw_steering(run: Run, status: Status, words: str) -> None:
    """What steers the run, and under it what happened to it; `words` where nothing did."""
    _buttons(run, status)
    message = runs.message(session.current(), run, status) or state(status).sentence
    if status.state in ("failed", "diverged", "interrupted"):
        st.error(sentence(message), icon=":material/info:")
    else:
        # One that ended by itself before its time says so, and what it reached; of others the message is all.
        said = [sentence(message)] if message else []
        st.caption(" ".join(said + [words] if status.state == "done" or not said else said))
    if changed := _changes(run, runs.log(run.id)):
        st.caption(changed)


def _progress_words(run: Run, status: Status) -> str:
    if status.state == "queued":
        place = runs.executor().place(run)
        if place is not None:
            trouble = runs.executor().trouble()
            return f"Waiting for a free place: number {place} in the queue{trouble and f'; {trouble}'}"
        slow = time.time() - status.heartbeat > SLOW_START_S
        return "Starting … the trainer is loading" if slow else "Starting …"
    words = runs.reached(run.config(), status)
    if status.state == "running" and status.seconds_left is not None:
        # In one line: where it needs two, the buttons below move as a press pauses the run, and the next press misses.
        minutes = f"{round(status.seconds_left / 60):,}{NBSP}min"
        return f"{words} · {clock(status.seconds_left) if status.seconds_left < LONG_S else minutes} left"
    return f"{words} · {clock(status.seconds)} of training"


def clock(seconds: float) -> str:
    """Seconds below two minutes, then minutes and seconds."""
    if seconds < 9.95:
        return f"{seconds:.1f}{NBSP}s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole}{NBSP}s"
    return f"{whole // 60}{NBSP}min {whole % 60:02d}{NBSP}s"


def draw_metrics(log: records.Records, images_per_second: float) -> None:
    """What the records come to: accuracies, loss and speed (0: unknown)."""
    training, validation = log.training(), log.validation()
    accuracy = percent(validation[-1, -1]) if validation.shape[1] else "–"
    loss = f"{_recent(training[3]):.3f}" if training.shape[1] else "–"
    test = "–" if log.test is None else percent(log.test["accuracy"])
    for row in (
        (
            ("Validation accuracy", accuracy, "On pictures held out of training."),
            ("Training loss", loss, "Cross-entropy, mean of the last ten records."),
        ),
        (
            (
                "Images per second",
                f"{images_per_second:,.0f}" if images_per_second else "–",
                None,
            ),
            ("Test accuracy", test, "Read once, at the end: nothing was chosen by it."),
        ),
    ):
        with st.container(horizontal=True):
            for label, value, help_text in row:
                st.metric(label, value, help=help_text)


def _recent(loss: np.ndarray) -> float:
    return float(np.nanmean(loss[-10:])) if np.isfinite(loss[-10:]).any() else float("nan")


def _reached(run: Run, log: runs.Log, status: Status) -> str:
    """What the records say so far, or why they say nothing yet."""
    if status.active and st.session_state.get(keys.STOPPING) == run.id:
        return "It finishes the step that is under way, saves, and stops."
    table = log.validation()
    if not table.shape[1]:
        return _not_evaluated(log, status)
    times = time_to(LEVELS, table[-1], table[2])
    said = [
        f"{percent(level, 0)} after {clock(at)}"
        for level, at in zip(LEVELS, times, strict=True)
        if at is not None
    ]
    best = log.best()
    words = f"Best validation accuracy {percent(best[1])} at step {best[0]:,}." if best else ""
    least = percent(LEVELS[0], 0)
    missed = f" It has not reached {least} yet." if status.active else f" It did not reach {least}."
    reached = f" It reached {', '.join(said)}." if said else missed
    precision = f" Computed in {status.precision}." if status.precision else ""
    return words + reached + precision


def _changed(run: Run, log: runs.Log) -> list[tuple[int, str, float, float]]:
    """What was changed while it trained: (step, name, before, after)."""
    standing = {name: getattr(run.config().train, name) for name in CHANGEABLE}
    found = []
    for event in log.events:
        if event.get("event") != "changed":
            continue
        for name in CHANGEABLE:
            value = event.get(name)
            if isinstance(value, int | float) and value != standing[name]:
                found.append((int(event["step"]), name, standing[name], value))
                standing[name] = value
    return found


def _changes(run: Run, log: runs.Log) -> str:
    """The last three changes in words."""
    said = [
        f"{CHANGEABLE[name]} {before:g} → {after:g} at step {step:,}"
        for step, name, before, after in _changed(run, log)
    ]
    return f"Changed while it trained: {'; '.join(said[-3:])}." if said else ""


def _not_evaluated(log: runs.Log, status: Status) -> str:
    if not status.active:
        return "It ended before its first evaluation."
    if status.state == "queued":
        return "Its curves begin when a trainer takes it up."
    if status.state == "paused" or log.training().shape[1]:
        return "It has not been evaluated yet."
    return "The first record comes within a second or two."


def _buttons(run: Run, status: Status) -> None:
    here = session.current()
    if not runs.may_change(here, run):
        st.caption(READ_ONLY)
        return
    executor = runs.executor()
    resume = partial(executor.resume, address=session.address())
    with st.container(horizontal=True, gap="small"):
        if status.active:
            if status.state == "paused":
                _button(run, "Resume", "play_arrow", resume)
            else:
                _button(run, "Pause", "pause", executor.pause, disabled=status.state == "queued")
            _button(run, "Step", "skip_next", executor.step, disabled=status.state == "queued")
            _button(run, "Stop", "stop", executor.stop)
        elif status.state != "done":
            _button(run, "Resume", "play_arrow", resume, disabled=status.state == "diverged")
    if status.active and status.state != "queued":
        live_settings.draw(run, status)


def _button(run: Run, label: str, icon: str, act: Callable[[Run], object], disabled: bool = False) -> None:
    # Told by a callback: a run of the part that another one overtakes before it draws the button would lose the press.
    pressed = st.button(
        label,
        key=f"live_lab._{label.lower()}",
        icon=f":material/{icon}:",
        disabled=disabled,
        on_click=_tell,
        args=(run, act, label == "Stop"),
        width="stretch",
    )
    if pressed:
        st.rerun()


def _tell(run: Run, act: Callable[[Run], object], stops: bool) -> None:
    from vitviz.training.executor import ExecutorError

    # An editing link may have been taken back since this was drawn.
    if not runs.may_change(session.current(), run):
        return
    try:
        act(run)
    except (ExecutorError, ValueError) as error:  # the run may be gone
        keys.notice(f"{error}.")
    except OSError as error:
        keys.notice(f"The run was not told, for nothing can be written to it ({reason(error)}).")
    else:
        st.session_state[keys.STOPPING] = run.id if stops else None

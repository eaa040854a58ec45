"""The race: what is kept, a prediction, then both ways live, and what came of it."""

from __future__ import annotations

import streamlit as st

from pages.controls import query_params
from pages.frame import page, run_start
from pages.selection import selection
from pages.stores import cached, catalogue, own_weights, polling_rate, runs, session
from pages.train.fine_tuning import (
    drawers,
    frozen_features,
    plan,
    race_controls,
    race_results,
    race_selection,
)
from pages.train.fine_tuning.learning_view import learning_view
from pages.train.fine_tuning.race_controls import Choice, Chosen
from vitviz.analysis import fine_tuning as analysis
from vitviz.checkpoints import CheckpointError
from vitviz.data.own_datasets import is_own
from vitviz.plots import fine_tuning as plots
from vitviz.text import plain, plural, reason
from vitviz.training.executor import ExecutorError
from vitviz.training.fine_tuning import TITLES, Source, race
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError, Status
from vitviz.training.start_weights import start_file

POLL_S = 0.5
GUESSES = {"tuned": "Fine-tuned", "scratch": "From scratch", "neither": "No clear difference"}
KEPT = (
    "The race keeps your weights in its folder on this server, until you delete it in the live lab's table."
)
RANDOM = "At this step its weights are random: both would begin with nothing. Move the sidebar's step."
_GUESS = "fine_tuning._guess"
_NOTICE = "fine_tuning._notice"
_WATCHED = "fine_tuning._watched"


def draw() -> None:
    """The whole section."""
    gone = race_selection.adopt_linked()
    chosen = race_controls.draw()
    if isinstance(chosen, str):
        st.error(chosen, icon=":material/block:")
    else:
        _begin(chosen)
    if notice := st.session_state.pop(_NOTICE, gone):
        st.warning(plain(notice), icon=":material/info:")
    run = race_selection.choose()
    if run is None:
        st.caption("No race has been run in this visit: predict, then start one.")
    else:
        active = runs.status(run).active
        st.session_state[_WATCHED] = active
        slowness = polling_rate.slowness()
        st.fragment(_stage, run_every=POLL_S * slowness if active else None)(run)
    drawers.draw(run)


# ---------------------------------------------------------------- before it starts


def _begin(chosen: Chosen) -> None:
    """What is kept, the prediction, and the button."""
    if why := race_controls.why_not(chosen):
        st.error(f"This cannot be trained: {plain(why)}.", icon=":material/block:")
        return
    plan.draw(chosen)
    _offer_colour(chosen)
    if catalogue.is_random(chosen.source, chosen.step):
        st.warning(RANDOM, icon=":material/casino:")
    if chosen.source.key.startswith(own_weights.KEY):
        page.caption(KEPT)
    left, right = st.columns([2.4, 1], vertical_alignment="bottom")
    with left:
        guess = st.segmented_control(
            f"Your prediction: which gets more test pictures right, with {_pictures(chosen)}?",
            tuple(GUESSES),
            format_func=GUESSES.__getitem__,
            key=_GUESS,
        )
    with right:
        st.button(
            "Start the race",
            key="fine_tuning._start",
            icon=":material/play_arrow:",
            type=selection.first_button(),
            width="stretch",
            disabled=guess is None,
            help="Disabled: predict first." if guess is None else None,
            on_click=_start,
            args=(chosen, guess, run_start.clicks_served()),
        )


def _offer_colour(chosen: Chosen) -> None:
    """Where pictures of one's own have colour and the body reads grey: what the page would begin with, in one click."""
    key = race_controls.first_body(colour=True)
    grey = chosen.source.preparation.in_chans == 1
    if key is None or not (grey and chosen.in_colour and is_own(chosen.task.dataset)):
        return
    st.info(
        f"These pictures have colour, and {chosen.source.shown} reads grey ones.", icon=":material/palette:"
    )
    label = f"Take {race_controls.sources()[key].shown} instead"
    st.button(label, key="fine_tuning._colour", on_click=_begin_with, args=(key,))


def _begin_with(source: str) -> None:
    Choice.change(source=source)


def _pictures(chosen: Chosen) -> str:
    return plural(chosen.task.pictures, "picture")


def _start(chosen: Chosen, guess: str, click: int) -> None:
    """Starts the race with the weights in its folder, and brings it onto the stage; in a callback."""
    if not run_start.serve(click):
        return
    try:
        model = cached.loaded(chosen.source, chosen.step)
        source = Source(chosen.source.title, model.digest, model.config, model.preparation)
        run = run_start.start(race(source, chosen.task, chosen.method), start=start_file(model))
    except (run_start.NotStarted, CheckpointError, OSError, ValueError) as error:
        st.session_state[_NOTICE] = f"It cannot start: {error}."
    except KeyError:
        st.session_state[_NOTICE] = "It cannot start: these weights are no longer on this server."
    else:
        session.current().notes[_note(run)] = guess
        st.session_state[_GUESS] = None
        query_params.want(Choice.key("run"), run.id)


def _note(run: Run) -> str:
    """Where a visit notes what it predicted of a race."""
    return f"fine_tuning.guess.{run.id}"


# ---------------------------------------------------------------- the stage


def _stage(run: Run) -> None:
    """How the race stands, its curves, and what its numbers say; polls while it runs."""
    try:
        _draw_stage(run)
    except (RunError, FileNotFoundError):
        if run.exists():
            raise
        st.rerun()  # it was removed meanwhile: the page says so
    active = runs.status(run).active
    if active != st.session_state.get(
        _WATCHED
    ):  # it has ended, or was resumed from here: stop polling, or begin
        st.session_state[_WATCHED] = active
        st.rerun()


def _draw_stage(run: Run) -> None:
    here = session.current()
    runs.watch(here)
    polling_rate.note(here.token)
    status, config = runs.status(run), run.config()
    _state(run, status)
    tuned, scratch = race_results.groups(run)
    frozen = frozen_features.read(run) if status.state == "done" else None
    chance, waiting = 1 / config.model.num_classes, runs.no_curve_yet(status)
    data = plots.learning(
        [tuned, scratch, *([frozen.group] if frozen else [])], chance, config.train.epochs or 1.0, waiting
    )
    learning_view(data, key="fine_tuning.learning")
    said = analysis.describe(tuned, scratch, race_results.test_pictures(run))
    if said:
        read = frozen.said if frozen else frozen_features.TOO_MANY if status.state == "done" else ""
        page.caption(f"{said} {read} {_guessed(run, analysis.verdict(tuned, scratch))}")
    else:
        page.caption(_under_way(config))
    if not status.active:
        selection.link_to("live_lab", "Look into its models in the lab", **{"live_lab.run": run.id})


def _state(run: Run, status: Status) -> None:
    left, right = st.columns([4, 1], vertical_alignment="center")
    with left:
        if status.state == "done":
            st.markdown(f":material/check: {_progress(run, status)}")
        else:
            st.progress(min(max(status.progress, 0.0), 1.0), text=_progress(run, status))
    if runs.may_change(session.current(), run):
        with right:
            _button(run, status)
    if status.state in ("failed", "diverged", "interrupted"):
        message = runs.message(session.current(), run, status)
        st.error(plain(f"{message[:1].upper()}{message[1:]}."), icon=":material/info:")


def _button(run: Run, status: Status) -> None:
    """Stops a race that is under way, and lets one go on that ended before its time."""
    if status.active:
        what, icon = "stop", "stop"
    elif status.state not in ("done", "diverged"):
        what, icon = "resume", "play_arrow"
    else:
        return
    st.button(
        what.capitalize(),
        key=f"fine_tuning._{what}",
        icon=f":material/{icon}:",
        on_click=_steer,
        args=(run, what),
        width="stretch",
    )


def _progress(run: Run, status: Status) -> str:
    name = plain(run.config().name)
    if status.state == "queued":
        return f"{name}: {runs.waits(session.current(), run)}"
    if status.state == "starting":
        return f"{name}: the pictures are being prepared"
    if status.state == "done":
        return f"{name}: {status.step:,} updates of each model, {status.seconds:.0f} s of training together"
    of = f" of {status.total_steps:,}" if status.total_steps else ""
    left = f", {status.seconds_left:.0f} s left" if status.active and status.seconds_left else ""
    return f"{name}: {status.state}, update {status.step:,}{of} of each model{left}"


def _steer(run: Run, what: str) -> None:
    if not runs.may_change(session.current(), run):
        return
    try:
        if what == "stop":
            runs.executor().stop(run)
        else:
            runs.executor().resume(run, session.address())
    except (ExecutorError, ValueError, OSError) as error:
        st.session_state[_NOTICE] = f"The race was not told: {reason(error)}."


def _under_way(config: RunConfig) -> str:
    """What the two have in common, and where they differ."""
    tuned, scratch = (config.recipe(race_results.first(config, name)) for name in TITLES)
    seeds = plural(len(config.members) // 2, "seed")
    batch = plural(tuned.batch_size, "picture")
    head = tuned.head_learning_rate or tuned.learning_rate
    slower = (
        f", times {tuned.layer_decay:g} with every layer away from the head,"
        if tuned.layer_decay != 1
        else ""
    )
    body = "a frozen body" if tuned.frozen else f"{tuned.learning_rate:g} for its body{slower}"
    return (
        f"{seeds} each; both see the same pictures in updates of {batch}, as many, in the same order. Learning rates:"
        f" fine-tuned {body} and {head:g} for its head, from scratch {scratch.learning_rate:g}."
    )


def _guessed(run: Run, found: str | None) -> str:
    guess = session.current().notes.get(_note(run))
    if not isinstance(guess, str) or guess not in GUESSES or found is None:
        return ""
    came = "so it is" if guess == found else "it came otherwise"
    of = " with this one seed" if len(run.members()) == len(TITLES) else ""
    return f"You predicted '{GUESSES[guess].lower()}': {came}{of}."

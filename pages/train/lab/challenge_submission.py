"""Let students hand in a trained run to their class's challenge, or train one by its rules."""

from collections.abc import Callable

import streamlit as st

from pages.classroom import membership
from pages.classroom.challenge_board import format_wait
from pages.controls import widgets
from pages.frame import run_start
from pages.stores import leaderboard, runs, session
from pages.train.lab import runs_table
from vitviz.classes import challenge as rules
from vitviz.classes.codes import format_code
from vitviz.classes.database import ClassError
from vitviz.config import name_fields
from vitviz.text import plain, plural
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run

ON_BOARD = "it is on the board"


def draw_train_button(config: RunConfig | ValueError, show: Callable[[str], None]) -> bool:
    """Draw the page's primary button while a challenge is open: it trains by the rules and hands in; else return False.

    Args:
        config: settings of the form, or the reason why they are invalid.
        show: callback that shows a run by its id.
    """
    if not _get_challenge_class():
        return False
    run_start.draw_start_button(
        "Train and hand in", _apply_limits(config), _train, show, name="_train_for_class"
    )
    return True


def _get_challenge_class() -> membership.Membership | None:
    """Return the user's class if it has an open challenge."""
    classroom = membership.get_membership()
    return classroom if classroom is not None and classroom.challenge else None


def draw(run: Run | None, draw_start_button: Callable[[], None]) -> None:
    """Draw the rules of the open challenge, if any, and the buttons for a run that is not trained for it.

    Args:
        run: the run that the page shows.
        draw_start_button: draws the button that trains without handing in.
    """
    if (classroom := _get_challenge_class()) is None:
        return
    why_not = _explain_run(run, classroom.code)
    with st.container(key="live_lab-challenge", border=True):
        st.markdown(f":material/trophy: **Challenge of class {format_code(classroom.code)}.** {rules.TERMS}")
        with st.container(horizontal=True):
            draw_start_button()
            widgets.button(
                "Handed in" if why_not == ON_BOARD else "Hand it in",
                key="live_lab._hand_in",
                icon=":material/upload:",
                help="Hands in the run that is shown, as it was trained.",
                why_not=plain(why_not),
                on_click=_hand_in,
                args=(run,),
            )
        st.caption(_describe_wait(classroom.code))


def _explain_run(run: Run | None, code: str) -> str:
    """Return the rule that the shown run breaks; '' if it can be handed in."""
    if run is None:
        return "train a model first"
    if not runs.is_maker(session.get_current(), run):
        return "somebody else trained it"
    status = runs.read_status(run)
    if status.state != "done":
        return "it is not trained to its end" if status.active else f"it is {status.state}"
    try:
        rules.check_trained_run(run.config(), status.seconds)
        entries = rules.load_entries(membership.get_class_store(), code)
    except (ValueError, ClassError) as error:
        return name_fields(str(error))
    return ON_BOARD if run.id in {entry.run for entry in entries} else ""


def _describe_wait(code: str) -> str:
    """Describe when a new run would start, and what to do meanwhile."""
    try:
        waiting = sum(
            row.state in ("new", "queued", "starting", "running") for row in leaderboard.load_board(code)
        )
    except ClassError:
        return ""
    wait_s = leaderboard.estimate_wait_s(waiting) if waiting else 0.0
    if not wait_s:
        return "A new run starts at once."
    return (
        f"{plural(waiting, 'run')} of the class share this server: a new one starts in about {format_wait(wait_s)}."
        " It trains without you: meanwhile, predict its accuracy, or open the maps of a finished run on the board."
    )


def _apply_limits(config: RunConfig | ValueError) -> RunConfig | ValueError:
    try:
        return config if isinstance(config, ValueError) else rules.apply_rules(config)
    except ValueError as error:
        return error


def _hand_in(run: Run) -> None:
    classroom = membership.get_membership()
    if classroom is None:
        return
    try:
        rules.submit_run(
            membership.get_class_store(), classroom.code, classroom.who, membership.get_nickname(), run.id
        )
    except ClassError as error:
        run_start.set_notice(f"The run was not handed in: {error}.")


def _train(config: RunConfig, show: Callable[[str], None]) -> None:
    """Queue the run and enter it into the ranking; a teacher's first run goes to the front of the queue."""
    classroom = membership.get_membership()
    if classroom is None:
        return
    store = membership.get_class_store()
    try:
        if refusal := rules.explain_full(store, classroom.code, classroom.who):
            run_start.set_notice(f"The model is not trained: {refusal}.")
            return
        goes_first = classroom.leads and not any(
            entry.who == classroom.who for entry in rules.load_entries(store, classroom.code)
        )
        run = run_start.start_run(runs_table.make_name_unique(config), config.lease_s, first=goes_first)
        rules.submit_run(store, classroom.code, classroom.who, membership.get_nickname(), run.id)
    except (ClassError, run_start.NotStarted) as error:
        run_start.set_notice(f"The model is not trained: {error}.")
        return
    show(run.id)

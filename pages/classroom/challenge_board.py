"""Draw the board of a challenge: the submitted runs, best first, with links to open them."""

import math
from html import escape
from pathlib import Path

import streamlit as st

from pages.classroom.membership import Membership
from pages.selection import selection
from pages.stores import leaderboard, registry
from pages.stores.leaderboard import BoardRow
from vitviz.classes.challenge import TERMS, ChallengeState
from vitviz.classes.database import ClassError
from vitviz.text import percent, plain

BOARD_S = 2.0
MAX_ROWS = 30  # further rows are shown only for the user's own runs
CHALLENGE_QUERY = {
    "live_lab.recipe": "digits_live",
    "live_lab.mlp_ratio": "3.5",
}  # the recipe's own MLP ratio exceeds the challenge's parameters
ANONYMOUS = "Anonymous"
STYLE = Path(__file__).with_suffix(".css").read_text("utf-8")
_STATE_LABELS = {"new": "waiting", "gone": "deleted"}  # other states are shown as they are


def draw(member: Membership, state: ChallengeState) -> None:
    st.subheader("Challenge", anchor=False)
    st.markdown(TERMS)
    if state.ended:
        st.caption("The challenge has ended; no more runs can be submitted.")
    else:
        entry = registry.BY_SLUG["live_lab"]
        st.page_link(
            entry.path,
            label="Train a model in the live lab",
            icon=f":material/{entry.icon}:",
            query_params=CHALLENGE_QUERY,
        )
    st.fragment(_draw_board, key="class_room.board", run_every=BOARD_S)(member)


def _draw_board(member: Membership) -> None:
    try:
        rows = leaderboard.load_board(member.code)
    except ClassError as error:
        st.caption(plain(str(error)))
        return
    if not rows:
        st.caption("No runs submitted yet.")
        return
    st.html(f"<style>{STYLE}</style>" + format_board(rows, member.who))
    names = {
        row.run: f"{rank}. {row.name or ANONYMOUS}" for rank, row in enumerate(rows, 1) if row.state != "gone"
    }
    run_id = st.selectbox(
        "Open a run", [*names], index=None, format_func=names.__getitem__, key="class_room._opened"
    )
    if run_id is not None:
        with st.container(horizontal=True):
            selection.link_to("live_lab", "Recipe and curves", **{"live_lab.run": run_id})
            step = next(row for row in rows if row.run == run_id).last_step
            if step is not None:
                selection.link_to(
                    "attention", "Attention maps", model=f"run:{run_id}", step=step, image="digits:0"
                )
        st.caption("You can view the run and copy its recipe; only its owner can change it.")


def format_board(rows: list[BoardRow], who: str) -> str:
    """Return the board as an HTML table, with nicknames escaped."""
    lines = [
        f"<tr{' class=mine' if row.who == who else ''}><td>{rank}</td><td>{escape(row.name or ANONYMOUS)}</td>"
        f"<td>{row.parameters:,}</td><td>{describe_status(row)}</td></tr>"
        for rank, row in enumerate(rows, 1)
        if rank <= MAX_ROWS or row.who == who
    ]
    head = "<tr><th>#</th><th>Name</th><th>Parameters</th><th>Test accuracy</th></tr>"
    return f'<table class="class-board">{head}{"".join(lines)}</table>'


def format_wait(seconds: float) -> str:
    """Return '40 s', or from two minutes on '3 min'."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{math.ceil(seconds / 60)} min"


def describe_status(row: BoardRow) -> str:
    """Return the test accuracy, '97.5 %', or the run's state, 'waiting, position 3: about 40 s'."""
    if row.test_accuracy is not None:
        return percent(row.test_accuracy)
    if row.state == "queued":
        if row.turn is None:
            return "waiting"
        wait_s = leaderboard.estimate_wait_s(row.turn)
        return f"waiting, position {row.turn}" + ("" if wait_s is None else f": about {format_wait(wait_s)}")
    if row.state == "running":
        accuracy = "" if row.accuracy is None else f", validation accuracy {percent(row.accuracy)}"
        return f"{percent(row.progress, 0)} trained{accuracy}"
    return _STATE_LABELS.get(row.state, row.state)

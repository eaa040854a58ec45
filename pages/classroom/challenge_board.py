"""The board of a challenge: the runs that were handed in, the best first, each to be opened."""

from __future__ import annotations

from html import escape

import streamlit as st

from pages.classroom.membership import Place
from pages.frame import registry
from pages.selection import selection
from pages.stores import board
from pages.stores.board import Row
from vitviz.classes.challenge import TERMS, Challenge
from vitviz.classes.database import ClassError
from vitviz.text import percent, plain

BOARD_S = 2.0
SHOWN = 30  # rows; below them only one's own
START = {
    "live_lab.recipe": "digits_live",
    "live_lab.mlp_ratio": "3.5",
}  # the recipe itself is a little too large
NOBODY = "No name"
STYLE = """<style>
.class-board { border-collapse: collapse; width: 100%; max-width: 720px; font-variant-numeric: tabular-nums; }
.class-board :is(th, td) { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid rgba(128, 128, 128, .3);
  overflow-wrap: anywhere; }
.class-board :is(th, td):nth-child(n+3) { text-align: right; }
.class-board .mine { font-weight: 650; }
html[data-vitviz-present] .class-board { max-width: none; font-size: 1.5rem; }
</style>"""
_SAID = {
    "starting": "begins",
    "paused": "is held",
    "stopped": "was stopped",
    "diverged": "diverged",
    "failed": "failed",
    "interrupted": "was interrupted",
    "new": "waits",
    "gone": "is gone",
}


def draw(place: Place, now: Challenge) -> None:
    """The rules, the way to hand in, the board, and what opens one of its runs."""
    st.subheader("Challenge", anchor=False)
    st.markdown(TERMS)
    if now.ended:
        st.caption("It has ended: no more runs are taken.")
    else:
        entry = registry.BY_SLUG["live_lab"]
        st.page_link(
            entry.path,
            label="Hand in a run from the live lab",
            icon=f":material/{entry.icon}:",
            query_params=START,
        )
    st.fragment(_table, key="class_room.board", run_every=BOARD_S)(place)


def _table(place: Place) -> None:
    try:
        rows = board.board(place.code)
    except ClassError as error:
        st.caption(plain(str(error)))
        return
    if not rows:
        st.caption("Nobody has handed in a run yet.")
        return
    st.html(STYLE + html(rows, place.who))
    names = {
        row.run: f"{rank}. {row.name or NOBODY}" for rank, row in enumerate(rows, 1) if row.state != "gone"
    }
    picked = st.selectbox(
        "Open one of them", [*names], index=None, format_func=names.__getitem__, key="class_room._opened"
    )
    if picked is not None:
        with st.container(horizontal=True):
            selection.link_to("live_lab", "Its recipe and curves", **{"live_lab.run": picked})
            last = next(row for row in rows if row.run == picked).last_step
            if last is not None:
                selection.link_to(
                    "attention", "What it looks at", model=f"run:{picked}", step=last, image="digits:0"
                )
        st.caption("You can look at it and keep a copy of its recipe; only who handed it in can change it.")


def html(rows: list[Row], who: str) -> str:
    """The board as a table: text of others as text."""
    lines = [
        f"<tr{' class=mine' if row.who == who else ''}><td>{rank}</td><td>{escape(row.name or NOBODY)}</td>"
        f"<td>{row.parameters:,}</td><td>{said(row)}</td></tr>"
        for rank, row in enumerate(rows, 1)
        if rank <= SHOWN or row.who == who
    ]
    head = "<tr><th>#</th><th>Run of</th><th>Parameters</th><th>Test accuracy</th></tr>"
    return f'<table class="class-board">{head}{"".join(lines)}</table>'


def said(row: Row) -> str:
    """'97.5 %', or how the run stands: 'waits, turn 3: about 40 s'."""
    if row.test_accuracy is not None:
        return percent(row.test_accuracy)
    if row.state == "queued":
        if row.turn is None:
            return "waits"
        wait = board.wait_s(row.turn)
        return f"waits, turn {row.turn}" + ("" if wait is None else f": about {wait:.0f} s")
    if row.state == "running":
        so_far = "" if row.accuracy is None else f", {percent(row.accuracy)} on validation"
        return f"{percent(row.progress, 0)} trained{so_far}"
    return _SAID.get(row.state, row.state)

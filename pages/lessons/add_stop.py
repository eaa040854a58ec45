"""'Add to my lesson': this page, as it stands, becomes the last stop of the visitor's own lesson."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.controls import session_keys
from pages.frame import registry
from pages.lessons import open_lesson
from pages.stores import lessons, session
from vitviz.lessons.lesson import Lesson, Stop
from vitviz.lessons.task_checks import Page
from vitviz.text import plain

TITLE = "My lesson"
WORDS = "What do you see here?"
TASK = "Look at the picture, then go on."
SLUG = "lessons"


def draw(slug: str) -> None:
    """The button, at the end of the sidebar; the page of lessons itself is no stop."""
    if slug == SLUG:
        return
    st.button(
        "Add to my lesson",
        key="my_lesson.add",
        icon=":material/bookmark_add:",
        type="tertiary",
        on_click=add,
        help="Keeps this page with its model, step, picture, pin and controls as a stop of a lesson of your own.",
    )


def add() -> None:
    """Keeps what is shown now; a callback, so it sees what the last run has drawn."""
    shelf = lessons.shelf(session.current())
    page = registry.BY_SLUG[st.session_state.get(session_keys.PAGE) or "home"]
    mine = shelf.own.get(lessons.MINE)
    try:
        stop = Stop(page.title, open_lesson.here(), WORDS, TASK, Page(page.slug))
        shelf.own[lessons.MINE] = (
            Lesson(TITLE, (stop,)) if mine is None else replace(mine, stops=(*mine.stops, stop))
        )
    except ValueError as error:  # too many stops, or a control that no link can hold
        st.toast(f"It cannot be added: {plain(str(error))}.", icon=":material/info:")
        return
    count = len(shelf.own[lessons.MINE].stops)
    st.toast(
        f"Stop {count} of your lesson. 'Lessons' in the menu shows it.", icon=":material/bookmark_added:"
    )

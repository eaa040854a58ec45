"""Add the current page to the user's own lesson as its last stop."""

from dataclasses import replace

import streamlit as st

from pages.classroom.membership import toast_errors
from pages.controls import session_keys
from pages.frame import registry
from pages.lessons import open_lesson
from pages.stores import lessons, session
from vitviz.lessons.lesson import Lesson, Stop
from vitviz.lessons.task_checks import PageOpen

TITLE = "My lesson"
WORDS = "What do you see here?"
TASK = "Look at the figure, then continue."
SLUG = "lessons"


def draw(slug: str) -> None:
    """Draw the button at the end of the page; the page of lessons itself cannot be a stop."""
    if slug == SLUG:
        return
    st.button(
        "Add to my lesson",
        key="my_lesson.add",
        icon=":material/bookmark_add:",
        type="tertiary",
        on_click=add_page,
        help="Adds this page, with model, step, image, pin and controls, to your lesson.",
    )


def add_page() -> None:
    """Add the page as shown, in a callback, so that it includes what the last run has drawn."""
    own_lessons = lessons.get_shelf(session.get_current()).own
    page = registry.BY_SLUG[st.session_state.get(session_keys.PAGE) or "home"]
    lesson = own_lessons.get(lessons.MINE)
    with toast_errors("The page cannot be added"):  # too many stops, or a control that no link can hold
        stop = Stop(page.title, open_lesson.link_page(), WORDS, TASK, PageOpen(page.slug))
        own_lessons[lessons.MINE] = (
            Lesson(TITLE, (stop,)) if lesson is None else replace(lesson, stops=(*lesson.stops, stop))
        )
        count = len(own_lessons[lessons.MINE].stops)
        st.toast(f"Added as stop {count}. Edit it on the page 'Lessons'.", icon=":material/bookmark_added:")

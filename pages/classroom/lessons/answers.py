"""What a visitor predicted and what was measured, to take away; nobody else sees it."""

from __future__ import annotations

import streamlit as st

from pages.shell import page, registry
from pages.stores import lessons, visit
from vitviz.tables import Columns

NAMES = ("lesson", "stop", "question", "guess", "measured", "asked of")


def draw() -> None:
    """A button, where there is an answer."""
    rows = collected()
    if not rows:
        return
    st.subheader("My answers", anchor=False)
    st.caption("Kept with your visit, and shown to nobody else.")
    columns: Columns = {name: [row[i] for row in rows] for i, name in enumerate(NAMES)}
    page.csv("What I answered (CSV)", columns, "my_answers.csv", "lessons.answers")


def collected() -> list[tuple[str, int, str, str, str, str]]:
    """Every answer of the visit: lesson, stop, question, guess, measured, model, step and picture."""
    here = visit.current()
    found = []
    for name, progress in lessons.shelf(here).progress.items():
        lesson = lessons.find(here, name, registry.BY_SLUG)
        title = name if lesson is None else lesson.title
        for stop, answer in sorted(progress.answers.items()):
            found.append((title, stop, answer.prompt, answer.guessed, answer.measured, answer.where))
    return found

"""What a visitor predicted and what was measured, to take away; nobody else sees it."""

from __future__ import annotations

import streamlit as st

from pages.frame import page, registry
from pages.stores import lessons, session
from pages.stores.lessons import Answer
from vitviz.tables import Columns

NAMES = ("lesson or page", "stop", "question", "guess", "measured", "asked of")


def draw() -> None:
    """A button, where there is an answer."""
    rows = collected()
    if not rows:
        return
    st.subheader("My answers", anchor=False)
    st.caption("Kept with your visit, and shown to nobody else.")
    columns: Columns = {name: [row[i] for row in rows] for i, name in enumerate(NAMES)}
    page.csv("What I answered (CSV)", columns, "my_answers.csv", "lessons.answers")


def collected() -> list[tuple[str, str, str, str, str, str]]:
    """Every answer of the visit, in lessons and to pages' own questions, which have no stop."""
    here = session.current()
    found = []
    for name, progress in lessons.shelf(here).progress.items():
        lesson = lessons.find(here, name, registry.BY_SLUG)
        title = name if lesson is None else lesson.title
        for stop, answer in sorted(progress.answers.items()):
            found.append((title, str(stop), *_said(answer)))
    for key, answer in lessons.asked(here).items():
        entry = registry.BY_SLUG.get(key.partition(".")[0])
        found.append((key if entry is None else entry.title, "", *_said(answer)))
    return found


def _said(answer: Answer) -> tuple[str, str, str, str]:
    return answer.prompt, answer.guessed, answer.measured, answer.where

"""Lessons: walk one, open a file, or make one's own."""

from __future__ import annotations

import streamlit as st

from pages.classroom.lessons import answers, editor, opening, shelf
from pages.shell import page, registry
from pages.stores import lessons

entry = registry.BY_SLUG["lessons"]
page.header(entry.title, entry.question)
shelf.draw(lessons.shipped(registry.BY_SLUG))
shelf.draw_class(lessons.of_the_class(registry.BY_SLUG))
opening.draw()
st.subheader("My lesson", anchor=False)
editor.draw()
answers.draw()

"""Lessons: walk one, open a file, or make one's own."""

from __future__ import annotations

import streamlit as st

from pages.frame import page, registry
from pages.lessons import answer_list, cards, editor, file_upload
from pages.stores import lessons

entry = registry.BY_SLUG["lessons"]
page.header(entry.title, entry.question)
cards.draw(lessons.shipped(registry.BY_SLUG))
cards.draw_class(lessons.of_the_class(registry.BY_SLUG))
file_upload.draw()
st.subheader("My lesson", anchor=False)
editor.draw()
answer_list.draw()

"""Lessons as cards: what each is about, how far one is, and the way in."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.lessons import open_lesson
from pages.stores import lessons, session
from vitviz.lessons.lesson import Lesson
from vitviz.text import plain, plural


def draw(found: Mapping[str, Lesson]) -> None:
    """The lessons by name, one card each."""
    for name, each in found.items():
        card(name, each)


def draw_class(found: Mapping[str, Lesson | str]) -> None:
    """The lessons of the operator's folder, and which of its files are none."""
    if not found:
        return
    st.subheader("For this class", anchor=False)
    for name, each in found.items():
        if isinstance(each, Lesson):
            card(name, each)
        else:
            st.warning(f"{plain(name.removeprefix(lessons.CLASS))}.toml is no lesson: {plain(each)}.")


def card(name: str, each: Lesson) -> None:
    """Title, what it is about, how long it is, and the way to the stop where one was."""
    here = session.current()
    progress = lessons.shelf(here).progress.get(name)
    length = plural(len(each.stops), "stop") + (f" · about {each.minutes} minutes" if each.minutes else "")
    with st.container(border=True, key=f"lesson-card-{name.replace('.', '-')}"):
        st.markdown(f"**{plain(each.title)}**")
        if each.about:
            st.markdown(plain(each.about))
        begun = progress is not None and bool(progress.done or progress.stop > 1)
        if progress is not None and begun:
            length += f" · {len(progress.done)} of {len(each.stops)} done"
        st.caption(length)
        with st.container(horizontal=True):
            if progress is not None and begun and progress.stop > 1:
                number = min(progress.stop, len(each.stops))
                open_lesson.link_to(name, each, number, f"Resume at stop {number}", "resume")
            open_lesson.link_to(name, each, 1, "From the start" if begun else "Begin", "play_arrow")

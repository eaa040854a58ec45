"""Draw lessons as cards with their summary, the user's progress and links to start or resume."""

from collections.abc import Mapping

import streamlit as st

from pages.lessons import open_lesson
from pages.stores import lessons, session
from vitviz.lessons.lesson import Lesson
from vitviz.text import plain, plural


def draw_class_lessons(by_name: Mapping[str, Lesson | str]) -> None:
    """Draw the lessons of the operator's folder, and the errors of its invalid files."""
    if not by_name:
        return
    st.subheader("For this class", anchor=False)
    for name, lesson in by_name.items():
        if isinstance(lesson, Lesson):
            draw_card(name, lesson)
        else:
            st.warning(f"{plain(name.removeprefix(lessons.CLASS))}.toml is invalid: {plain(lesson)}.")


def draw_card(name: str, lesson: Lesson) -> None:
    progress = lessons.get_shelf(session.get_current()).progress.get(name)
    count = len(lesson.stops)
    facts = [plural(count, "stop")]
    if lesson.minutes:
        facts.append(f"about {lesson.minutes} minutes")
    with st.container(border=True, key=f"lesson-card-{name.replace('.', '-')}"):
        st.markdown(f"**{plain(lesson.title)}**")
        if lesson.about:
            st.markdown(plain(lesson.about))
        begun = progress is not None and bool(progress.done or progress.stop > 1)
        if progress is not None and begun:
            facts.append(f"{len(progress.done)} of {count} done")
        st.caption(" · ".join(facts))
        with st.container(horizontal=True):
            if progress is not None and begun and progress.stop > 1:
                number = min(progress.stop, count)
                open_lesson.draw_link(name, lesson, number, f"Resume at stop {number}", "resume")
            open_lesson.draw_link(name, lesson, 1, "Start over" if begun else "Start", "play_arrow")

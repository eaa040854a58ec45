"""Draw lessons as cards: a picture, the lesson's length, a dot per stop and the links that start or continue it."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

import streamlit as st

from pages.frame import registry
from pages.lessons import open_lesson
from pages.selection import selection
from pages.stores import lessons, session
from pages.stores.lessons import Progress
from vitviz.lessons.lesson import Lesson
from vitviz.plots.theme import PALETTES, SEQUENTIAL
from vitviz.text import plain, plural

COLUMNS = 3
STYLE = Path(__file__).with_suffix(".css")
PICTURES = {"fifteen": "patches", "lecture": "block", "explanation": "attention"}
"""The page that a shipped lesson's picture shows; the others show that of the page they open most often."""


def draw_cards(by_name: Mapping[str, Lesson]) -> None:
    """Draw lessons in three columns."""
    st.html(STYLE)
    cards = list(by_name.items())
    for first in range(0, len(cards), COLUMNS):
        for column, (name, lesson) in zip(st.columns(COLUMNS), cards[first : first + COLUMNS], strict=False):
            with column:
                _draw_card(name, lesson)


def draw_class_lessons(by_name: Mapping[str, Lesson | str]) -> None:
    """Draw the lessons of the operator's folder, and the errors of its invalid files."""
    if not by_name:
        return
    st.subheader("For this class", anchor=False)
    draw_cards({name: lesson for name, lesson in by_name.items() if isinstance(lesson, Lesson)})
    for name, lesson in by_name.items():
        if isinstance(lesson, str):
            st.warning(f"{plain(name.removeprefix(lessons.CLASS))}.toml is invalid: {plain(lesson)}.")


def find_card_image(name: str, lesson: Lesson) -> str:
    """Return the page whose picture a lesson's card shows."""
    slugs = [stop.link.slug for stop in lesson.stops if stop.link.slug != "home"]
    return PICTURES.get(name) or (max(slugs, key=slugs.count) if slugs else "patches")


def render_timeline(lesson: Lesson, progress: Progress) -> str:
    """Return HTML of a dot per stop, in the colour of the part of the model that its page is about."""
    dots = []
    for number, stop in enumerate(lesson.stops, start=1):
        parts = registry.BY_SLUG[stop.link.slug].parts
        part = parts[0] if 0 < len(parts) < len(registry.PARTS) else ""
        colour = SEQUENTIAL[registry.PARTS.index(part)] if part else PALETTES[selection.get_theme()].muted
        state = "vv-done" if number in progress.done else ""
        title = escape(f"{number}. {stop.title}{f' ({part})' if part else ''}", quote=True)
        dots.append(f'<i class="{state}" style="--dot: {colour}" title="{title}"></i>')
    label = f"{plural(len(lesson.stops), 'stop')}, {len(progress.done)} done"
    return f'<div class="vv-stops" role="img" aria-label="{label}">{"".join(dots)}</div>'


def _draw_card(name: str, lesson: Lesson) -> None:
    progress = lessons.get_shelf(session.get_current()).progress.get(name, Progress())
    count = len(lesson.stops)
    begun = bool(progress.done) or progress.stop > 1
    facts = [plural(count, "stop")]
    if lesson.minutes:
        facts.append(f"about {lesson.minutes} minutes")
    if begun:
        facts.append(f"{len(progress.done)} of {count} done")
    with st.container(border=True, height="stretch", key=f"lesson-card-{name.replace('.', '-')}"):
        st.html(f'<img src="app/static/cards/{find_card_image(name, lesson)}.svg" alt="">')
        st.markdown(f"**{plain(lesson.title)}**  \n{plain(lesson.about)}")
        st.html(render_timeline(lesson, progress))
        st.caption(" · ".join(facts))
        with st.container(horizontal=True):
            if begun and progress.stop > 1:
                number = progress.find_next(count)
                open_lesson.draw_link(name, lesson, number, f"Continue at stop {number}", "resume")
            open_lesson.draw_link(name, lesson, 1, "Start over" if begun else "Start", "play_arrow")

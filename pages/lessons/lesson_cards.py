"""Draw lessons as cards: an image, the lesson's length, a bar of its stops and the links that start or continue it."""

from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from pathlib import Path

import streamlit as st

from pages.lessons import open_lesson
from pages.selection import selection
from pages.stores import lessons, registry, session
from pages.stores.lessons import Progress
from vitviz.lessons.lesson import Lesson, Stop
from vitviz.plots.theme import HEADS
from vitviz.text import plain, plural

COLUMNS = 3
FIRST = "fifteen"  # the lesson to begin with: the page's filled button
# By part of the model: olive for the image, so that no two parts are both blue.
COLOURS = dict(zip(registry.PARTS, (HEADS[5], *HEADS[1:5], HEADS[0], HEADS[6]), strict=True)) | {"": HEADS[6]}
STYLE = Path(__file__).with_suffix(".css")
CARDS = Path(__file__).parents[2] / "static" / "cards"


def draw_cards(by_name: Mapping[str, Lesson], *more: Callable[[], None]) -> None:
    """Draw lessons in three columns, and after them further cards."""
    st.html(STYLE)
    cards = [partial(_draw_card, name, lesson) for name, lesson in by_name.items()] + list(more)
    for first in range(0, len(cards), COLUMNS):
        for column, draw_card in zip(st.columns(COLUMNS), cards[first : first + COLUMNS], strict=False):
            with column:
                draw_card()


def draw_legend(by_name: Mapping[str, Lesson]) -> None:
    """Draw the colours of the parts that the lessons' stops are about."""
    found = {_find_part(stop) for lesson in by_name.values() for stop in lesson.stops}
    parts = [
        f'<span><i style="--dot: {COLOURS[part]}"></i>{part or "all"}</span>'
        for part in COLOURS
        if part in found
    ]
    st.html(
        f'<p class="vv-legend">Stops by part of the model: {" ".join(parts)}'
        ' <span><i class="vv-done"></i>done</span></p>'
    )


def _find_part(stop: Stop) -> str:
    """Return the part of the model that a stop's page is about; '' for all or none."""
    parts = registry.BY_SLUG[stop.link.slug].parts
    return parts[0] if 0 < len(parts) < len(registry.PARTS) else ""


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
    """Return the picture of a shipped lesson's stop in the user's theme, or of the page that the lesson opens most."""
    stored = f"lesson_{name}_{selection.get_theme()}.webp"  # tests/unit/test_card_pictures.py draws it
    if name.isidentifier() and (CARDS / stored).is_file():
        return stored
    slugs = [stop.link.slug for stop in lesson.stops if stop.link.slug != "home"]
    return f"{max(slugs, key=slugs.count) if slugs else 'patches'}.svg"


def render_timeline(lesson: Lesson, progress: Progress) -> str:
    """Return HTML of a bar with a segment per stop, in the colour of the part of the model that its page is about."""
    segments = []
    for number, stop in enumerate(lesson.stops, start=1):
        part = _find_part(stop)
        state = "vv-done" if number in progress.done else ""
        title = escape(f"{number}. {stop.title}{f' ({part})' if part else ''}", quote=True)
        segments.append(f'<i class="{state}" style="--dot: {COLOURS[part]}" title="{title}"></i>')
    label = f"{plural(len(lesson.stops), 'stop')}, {len(progress.done)} done"
    return f'<div class="vv-stops" role="img" aria-label="{label}">{"".join(segments)}</div>'


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
        st.html(f'<img src="app/static/cards/{find_card_image(name, lesson)}" alt="">')
        st.markdown(f"**{plain(lesson.title)}** · :gray[{' · '.join(facts)}]  \n{plain(lesson.about)}")
        st.html(render_timeline(lesson, progress))
        with st.container(horizontal=True, key="lesson-first" if name == FIRST else None):
            if (number := progress.find_next(count)) > 1:
                open_lesson.draw_link(name, lesson, number, f"Continue at stop {number}", "resume")
            open_lesson.draw_link(name, lesson, 1, "Start over" if begun else "Start lesson", "play_arrow")

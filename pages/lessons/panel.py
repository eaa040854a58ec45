"""The lesson beside the page: where one is, a few words, what to do, whether it is done, the question, the way on.

Who follows a teacher in a lesson that only the teacher has reads its stop there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import StopException

from pages.classroom import membership
from pages.frame import glossary_terms, registry
from pages.lessons import open_lesson, panel_selection
from pages.lessons.open_lesson import Open
from pages.lessons.panel_foot import foot
from pages.questions import prediction
from pages.selection import selection
from pages.stores import lessons
from pages.stores.lessons import Answer
from vitviz.classes.shared_view import Words
from vitviz.pin import Pin
from vitviz.plots.theme import PALETTES
from vitviz.text import plain, unbroken

KEY = "lesson_panel"
SHELF = "lessons"  # the page of all lessons
WIDTH_REM = 21
BAR_REM = 3.75
GROUND = "<style>.st-key-lesson_task, .st-key-lesson_ways {{ background: {}; }}</style>"
# Beside the page where there is room for both, above it elsewhere; never over it. On a phone what to do, whether it is
# done and the way on stay in sight at the foot of the screen: the page leaves them room at its end.
STYLE = f"""<style>
.st-key-{KEY} {{ border: 1px solid rgba(128, 128, 128, .3); border-radius: 8px;
  padding: 1rem; gap: .6rem; }}
.st-key-{KEY} [data-testid="stMetricValue"] {{ font-size: 1.15rem; }}
.st-key-{KEY} [data-testid="stPageLink-NavLink"] {{
  background: none; border: 1px solid transparent; padding: 2px 8px; }}
.st-key-{KEY} [data-testid="stPageLink-NavLink"] * {{ font-weight: 400 !important; }}
.st-key-{KEY} .st-key-lesson_next [data-testid="stPageLink-NavLink"] {{
  border-color: color-mix(in srgb, currentColor 45%, transparent); }}
@media (min-width: 1200px) {{
  [data-testid="stMainBlockContainer"] {{ padding-right: {WIDTH_REM + 2.5}rem; }}
  .st-key-{KEY} {{ position: fixed; z-index: 5; top: 4.5rem; right: 1.25rem; width: {WIDTH_REM}rem !important;
    max-height: calc(100vh - 5.5rem); overflow-y: auto; }}
}}
@media (max-width: 640px) {{
  [data-testid="stMainBlockContainer"] {{ padding-bottom: {BAR_REM + 7}rem; }}
  .st-key-lesson_task, .st-key-lesson_ways {{ position: fixed; z-index: 99; left: 0; right: 0;
    width: 100% !important; padding: .5rem 1rem; }}
  .st-key-lesson_task {{ bottom: {BAR_REM}rem; border-top: 1px solid rgba(128, 128, 128, .4); padding-bottom: 0; }}
  .st-key-lesson_ways {{ bottom: 0; height: {BAR_REM}rem; }}
  .st-key-lesson_ways a {{ min-height: 2.75rem; align-items: center; }}
}}
</style>"""


@contextmanager
def beside(slug: str) -> Iterator[None]:
    """The panel of the open lesson beside what runs within; its end is drawn when the page has said what it shows."""
    now = open_lesson.current()
    gone = open_lesson.was_gone()
    if gone:
        st.warning("The lesson of this link is not on this server.", icon=":material/info:")
    rest = _begin(now) if now is not None else None
    if now is None and (words := membership.read_along()) is not None:
        _read_along(words)
    try:
        yield
    except StopException:
        _fill(rest, slug)
        raise
    _fill(rest, slug)


def _begin(now: Open) -> DeltaGenerator:
    """The panel's place, which narrows the page, and its words: before the page runs, so that nothing waits for it.

    Returns:
        Where the rest goes: what is to be done, and whether it is, is known once the page has said what it shows.
    """
    with st.container(key=KEY):
        st.html(STYLE + GROUND.format(PALETTES[selection.mode()].paper))
        _head(now)
        st.markdown(f"**{plain(now.stop.title)}**")
        glossary_terms.begin()
        words = unbroken(now.stop.words)
        st.markdown((glossary_terms.marked_as_it_is if lessons.is_shipped(now.name) else plain)(words))
        return st.container(gap="xsmall")


def _read_along(words: Words) -> None:
    """The stop of a teacher's own lesson, for who follows: to read; its ways are the teacher's."""
    with st.container(key=KEY):
        st.html(STYLE)
        st.caption(f"Your teacher's lesson: {plain(words.lesson)}")
        st.progress(words.stop / words.stops, f"Stop {words.stop} of {words.stops}")
        st.markdown(f"**{plain(words.title)}**")
        st.markdown(plain(words.words))
        st.markdown(f":material/radio_button_unchecked: {plain(words.task)}")


def _fill(rest: DeltaGenerator | None, slug: str) -> None:
    if rest is not None:
        with rest:
            _panel(slug)


@st.fragment
def _panel(slug: str) -> None:
    """Runs alone when the address has changed without a run of the page."""
    open_lesson.look()
    now = open_lesson.current()
    if now is None:
        return
    _task(now)
    panel_selection.draw(now)
    if now.stop.question is not None and slug == now.stop.link.slug:
        _question(now)
    _ways(now, slug)
    foot(open_lesson.shown().link, now.done, key="lesson.foot")


def _head(now: Open) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.caption(plain(now.lesson.title), width="content")
        if st.button(
            "", icon=":material/close:", key="lesson.leave", type="tertiary", help="Leave the lesson"
        ):
            open_lesson.leave()
            st.rerun()
    st.progress(now.number / len(now.lesson.stops), f"Stop {now.number} of {len(now.lesson.stops)}")


def _task(now: Open) -> None:
    """What to do, and the mark that it was done."""
    with st.container(key="lesson_task"):
        if now.done:
            st.markdown(f":green[:material/check_circle:] **Done.** :gray[{plain(now.stop.task)}]")
        else:
            st.markdown(f":material/radio_button_unchecked: {plain(now.stop.task)}")


def _question(now: Open) -> None:
    assert now.stop.question is not None

    def keep(answer: Answer | None) -> None:
        if answer is None:
            now.progress.answers.pop(now.number, None)
        else:
            now.progress.answers[now.number] = answer

    with st.container(border=True):
        key = f"lesson.{now.name}.{now.number}"
        began = Pin.parse(now.stop.link.values.get("pin", ""))
        prediction.draw(now.stop.question, key, now.progress.answers.get(now.number), keep, no_guess=began)


def _ways(now: Open, slug: str) -> None:
    """Back, next, and this stop once more, each a link of its own."""
    away, last = slug != now.stop.link.slug, len(now.lesson.stops)
    if away:
        _way(
            now,
            now.number,
            f"To this stop: {registry.BY_SLUG[now.stop.link.slug].title}",
            "undo",
            "lesson_here",
        )
    with st.container(key="lesson_ways", horizontal=True, horizontal_alignment="distribute", gap="xsmall"):
        if now.number > 1:
            _way(now, now.number - 1, "Back", "arrow_back", "lesson_back")
        if not away:
            _way(now, now.number, "Again", "restart_alt", "lesson_again", "Shows this stop as it began")
        if now.number < last:
            _way(now, now.number + 1, "Next" if now.done else "Skip", "arrow_forward", "lesson_next")
    if now.number == last and now.done:
        st.markdown(":green[:material/flag:] That was the last stop.")
        if slug != SHELF:
            selection.link_to(SHELF, "Other lessons, and what you answered")


def _way(now: Open, number: int, label: str, icon: str, key: str, help: str | None = None) -> None:
    with st.container(key=key, width="content"):
        st.page_link(
            registry.BY_SLUG[now.lesson.stops[number - 1].link.slug].path,
            label=label,
            icon=f":material/{icon}:",
            help=help,
            query_params=now.query(number),
        )

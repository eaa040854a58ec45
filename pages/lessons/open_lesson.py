"""Open lessons and stops by their links, and check whether the stop's task is done.

A link with only `lesson=fifteen&stop=3` opens the stop's page with the stop's settings. With further parameters, as
after a reload, it keeps the page as it is.
"""

from dataclasses import dataclass

import streamlit as st

from pages.controls import notices, query_params, session_keys
from pages.selection import selection
from pages.stores import lessons, registry, session
from pages.stores.lessons import Progress
from vitviz.lessons.lesson import Lesson, Link, Stop
from vitviz.lessons.task_checks import PageState
from vitviz.text import parse_int

LESSON_MISSING = "The lesson of this link is unavailable on this server."
_SELECTION = ("model", "step", "image", "crop", "pin")
_KEYS = {"lesson", "stop", "class"}  # query parameters that belong to no page


@dataclass(frozen=True)
class OpenStop:
    """The open stop: its lesson, its number from 1, and the user's progress."""

    name: str
    lesson: Lesson
    number: int
    progress: Progress

    @property
    def stop(self) -> Stop:
        return self.lesson.stops[self.number - 1]

    @property
    def done(self) -> bool:
        return self.number in self.progress.done

    def query(self, number: int) -> dict[str, str]:
        return build_query(self.name, self.lesson, number)


def build_query(name: str, lesson: Lesson, number: int) -> dict[str, str]:
    """Return the query of a stop's address: its link's values, the lesson and the stop."""
    return {**lesson.stops[number - 1].link.values, "lesson": name, "stop": str(number)}


def draw_link(
    name: str, lesson: Lesson, number: int, label: str, icon: str, hover: str | None = None
) -> None:
    """Draw a link to a lesson's stop, numbered from 1; `label` is Markdown, so untrusted text must be escaped."""
    st.page_link(
        registry.BY_SLUG[lesson.stops[number - 1].link.slug].path,
        label=label,
        icon=f":material/{icon}:",
        help=hover,
        query_params=build_query(name, lesson, number),
        width="content",
    )


def get_open_stop() -> OpenStop | None:
    opened = st.session_state.get(session_keys.LESSON)
    if opened is None:
        return None
    name, number = opened
    user = session.get_current()
    lesson = lessons.find_lesson(user, name, registry.BY_SLUG)
    if lesson is None:  # its file was deleted meanwhile
        return None
    return OpenStop(name, lesson, min(number, len(lesson.stops)), lessons.get_progress(user, name))


def read_address(slug: str) -> None:
    """Open the stop that the address names, before anything is drawn; may switch to the stop's page.

    Args:
        slug: of the current page.
    """
    st.session_state[session_keys.FACTS] = {}
    only_stop = st.query_params.to_dict().keys() <= _KEYS
    name, number = query_params.take_value("lesson"), query_params.take_value("stop")
    previous = st.session_state.get(session_keys.LESSON)
    if name is None and number is not None and previous is not None:
        name = previous[0]
    if name is not None:
        _open_stop(name, number)
    opened = get_open_stop()
    if opened is None:
        st.session_state[session_keys.LESSON] = None
        return
    if only_stop and name is not None:
        _apply_link(opened, slug)
    query_params.set_value("lesson", opened.name)
    query_params.set_value("stop", str(opened.number))


def _open_stop(name: str, number: str | None) -> None:
    user = session.get_current()
    lesson = lessons.find_lesson(user, name, registry.BY_SLUG)
    if lesson is None:
        st.session_state[session_keys.LESSON] = None
        notices.store_notice(session_keys.LESSON_MISSING, LESSON_MISSING)
        return
    notices.clear_notice(session_keys.LESSON_MISSING)
    progress = lessons.get_progress(user, name)
    stop = None if number is None else parse_int(number)
    if stop is not None:
        progress.stop = min(max(stop, 1), len(lesson.stops))
    lessons.get_shelf(user).last = name
    if st.session_state.get(session_keys.LESSON) is None:
        written = st.session_state.get(session_keys.WRITTEN, {})
        st.session_state[session_keys.BEFORE_LESSON] = {
            key: text for key, text in written.items() if key in _SELECTION
        }
    st.session_state[session_keys.LESSON] = (name, progress.stop)


def _apply_link(opened: OpenStop, slug: str) -> None:
    link = opened.stop.link
    if link.slug == slug:
        query_params.apply_values(link.values)
    else:
        st.switch_page(registry.BY_SLUG[link.slug].path, query_params=opened.query(opened.number))


def close_lesson() -> None:
    """Close the lesson; progress and answers stay in the session."""
    st.session_state[session_keys.LESSON] = None


def leave_lesson() -> None:
    """Close the lesson and select what was selected before it, unless the user has uploaded another image since."""
    close_lesson()
    before = st.session_state.pop(session_keys.BEFORE_LESSON, {})
    image = query_params.get_values().get("image", "")
    is_own = image.startswith("upload:") and image != before.get("image")
    if before and not is_own:
        session_keys.get_control_values().pop("pin", None)
        for key, text in before.items():
            query_params.request_value(key, text)


def read_page_state() -> PageState:
    """Return the state of the page, as far as this run has drawn it."""
    opened = get_open_stop()
    return PageState(
        page=_get_slug(),
        link=query_params.get_values(),
        grid=selection.get_patch_grid(selection.get_model_choice().config),
        facts=dict(st.session_state.get(session_keys.FACTS, {})),
        guessed=opened is not None and opened.number in opened.progress.answers,
    )


def link_page() -> Link:
    """Return the link of this page in its current state, for a stop."""
    return Link(
        _get_slug(),
        tuple((key, text) for key, text in query_params.get_values().items() if key not in _KEYS),
    )


def check_task() -> bool:
    """Check the stop's task and record it as done; return True if it was not done before."""
    opened = get_open_stop()
    if opened is None or opened.done:
        return False
    if not opened.stop.check.is_done(read_page_state(), opened.stop.link.values):
        return False
    opened.progress.done.add(opened.number)
    return True


def report_facts(**facts: float) -> None:
    """Report facts of `vitviz.lessons.task_checks.FACTS`, which no link holds: `report_facts(run=0.93)`."""
    reported: dict[str, float] = st.session_state.setdefault(session_keys.FACTS, {})
    if all(reported.get(name) == fact for name, fact in facts.items()):
        return
    reported.update(facts)
    # The panel does not run after a fragment, so the page reruns, at most once per stop.
    if session_keys.is_fragment_run() and check_task():
        st.rerun()


def _get_slug() -> str:
    return st.session_state.get(session_keys.PAGE) or "home"

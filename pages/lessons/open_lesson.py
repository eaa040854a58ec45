"""The lesson that is open: which stop, what is shown now, and whether the stop's one thing is done.

A link says where one is: `lesson=fifteen&stop=3`. With nothing else in it, it opens that stop's page as the stop wants
it; beside nouns and controls, as a reload sends them, it leaves what is shown as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.controls import query_params, session_keys
from pages.frame import registry
from pages.selection import selection
from pages.stores import lessons, session
from pages.stores.lessons import Progress
from vitviz.config import ModelConfig
from vitviz.lessons.lesson import Lesson, Link, Stop
from vitviz.lessons.page_state import Shown
from vitviz.number_text import parse_int

_KEYS = {"lesson", "stop"}
_NOT_OF_A_PAGE = _KEYS | {"class"}


@dataclass(frozen=True)
class Open:
    """A stop of a lesson: its lesson by name, and its number, from 1."""

    name: str
    lesson: Lesson
    number: int
    progress: Progress

    @property
    def stop(self) -> Stop:
        """The stop itself."""
        return self.lesson.stops[self.number - 1]

    @property
    def done(self) -> bool:
        """Whether its one thing has been seen done."""
        return self.number in self.progress.done

    def query(self, number: int) -> dict[str, str]:
        """What the address of one of the lesson's stops says."""
        return query(self.name, self.lesson, number)


def query(name: str, lesson: Lesson, number: int) -> dict[str, str]:
    """What the address of a stop says: its own link, and where one is."""
    return {**lesson.stops[number - 1].link.values, "lesson": name, "stop": str(number)}


def link_to(name: str, lesson: Lesson, number: int, label: str, icon: str) -> None:
    """Draws a link to a lesson's stop, numbered from 1; `label` is Markdown, so words from outside come escaped."""
    st.page_link(
        registry.BY_SLUG[lesson.stops[number - 1].link.slug].path,
        label=label,
        icon=f":material/{icon}:",
        query_params=query(name, lesson, number),
        width="content",
    )


def current() -> Open | None:
    """The stop that this run shows; None where no lesson is open."""
    place = st.session_state.get(session_keys.LESSON)
    if place is None:
        return None
    name, number = place
    here = session.current()
    lesson = lessons.find(here, name, registry.BY_SLUG)
    if lesson is None:  # its file has gone meanwhile
        return None
    return Open(name, lesson, min(number, len(lesson.stops)), lessons.progress(here, name))


def settle(slug: str) -> None:
    """Reads where the address wants to be, before anything is drawn; may go to the stop's page.

    Args:
        slug: of the page that this run is of.
    """
    st.session_state[session_keys.FACTS] = {}
    bare = st.query_params.to_dict().keys() <= _KEYS
    name, number = query_params.take("lesson"), query_params.take("stop")
    before = st.session_state.get(session_keys.LESSON)
    if name is None and number is not None and before is not None:
        name = before[0]
    if name is not None:
        _open(name, number)
    now = current()
    if now is None:
        st.session_state[session_keys.LESSON] = None
        return
    if bare and name is not None:
        _show(now, slug)
    query_params.put("lesson", now.name)
    query_params.put("stop", str(now.number))


def _open(name: str, number: str | None) -> None:
    here = session.current()
    lesson = lessons.find(here, name, registry.BY_SLUG)
    if lesson is None:
        st.session_state[session_keys.LESSON] = None
        st.session_state[session_keys.LESSON_GONE] = True
        return
    progress = lessons.progress(here, name)
    stop = None if number is None else parse_int(number)
    if stop is not None:
        progress.stop = min(max(stop, 1), len(lesson.stops))
    lessons.shelf(here).last = name
    st.session_state[session_keys.LESSON] = (name, progress.stop)


def _show(now: Open, slug: str) -> None:
    """Makes the page what the stop's link says."""
    wanted = now.stop.link
    if wanted.slug == slug:
        for key, value in wanted.query:
            query_params.want(key, value)
    else:
        st.switch_page(registry.BY_SLUG[wanted.slug].path, query_params=now.query(now.number))


def leave() -> None:
    """Closes the lesson; what was done and answered is kept with the visit."""
    st.session_state[session_keys.LESSON] = None


def was_gone() -> bool:
    """Whether a link wanted a lesson that is not here; said once."""
    return bool(st.session_state.pop(session_keys.LESSON_GONE, False))


def shown() -> Shown:
    """What is shown now, as far as this run has drawn it."""
    now = current()
    return Shown(
        page=_page(),
        link=query_params.written(),
        grid=_grid(selection.choice().config),
        facts=dict(st.session_state.get(session_keys.FACTS, {})),
        guessed=now is not None and now.number in now.progress.answers,
    )


def here() -> Link:
    """This page and all that it shows, as a stop's link holds it."""
    return Link(
        _page(),
        tuple((key, value) for key, value in query_params.written().items() if key not in _NOT_OF_A_PAGE),
    )


def look() -> bool:
    """Looks whether the stop's one thing is done, and remembers it; whether that is news."""
    now = current()
    if now is None or now.done or not now.stop.check.holds(shown(), now.stop.link.values):
        return False
    now.progress.done.add(now.number)
    return True


def hand_over(**facts: float) -> None:
    """Tells lessons what no link holds, `hand_over(run=0.93)`; names are those of `vitviz.lessons.page_state.FACTS`."""
    known: dict[str, float] = st.session_state.setdefault(session_keys.FACTS, {})
    if all(known.get(name) == value for name, value in facts.items()):
        return
    known.update(facts)
    context = get_script_run_ctx()
    # A fragment that runs alone is followed by no panel: the page runs once more, once a stop.
    if context is not None and context.fragment_ids_this_run and look():
        st.rerun()


def _page() -> str:
    return st.session_state.get(session_keys.PAGE) or "home"


def _grid(config: ModelConfig) -> tuple[int, int] | None:
    patch: int | None = getattr(config, "patch_size", None)
    if not patch:
        return None
    return config.image_size // patch, config.image_size // patch

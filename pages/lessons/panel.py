"""Draw the panel of the open lesson beside the page: progress, text, task, question, and links between stops.

A learner who follows a teacher's own lesson sees the text of its stop there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import StopException

from pages.controls import notices, query_params, session_keys
from pages.frame import glossary_terms
from pages.frame.slots import Slots
from pages.lessons import open_lesson, stop_finding
from pages.lessons.open_lesson import OpenStop
from pages.questions import prediction
from pages.selection import image_picker, selection, sidebar
from pages.stores import lessons, registry, shared_cache
from pages.views.register import register
from vitviz.classes.shared_view import LessonText
from vitviz.data.datasets import has_images
from vitviz.lessons.task_checks import ImageChosen, StepInRange
from vitviz.papers import cite
from vitviz.plots import lesson_pictures
from vitviz.plots.blob import pack
from vitviz.plots.theme import PALETTES
from vitviz.text import plain, unbroken

KEY = "lesson_panel"
LESSONS_SLUG = "lessons"
_panel_foot = register(__file__, "panel_foot")
_step_view = register(__file__, "panel_step")
BACKGROUND = "<style>.st-key-lesson_task, .st-key-lesson_ways {{ background: {}; }}</style>"
STYLE = Path(__file__).with_name("panel.css")


@contextmanager
def draw_beside(slug: str) -> Iterator[None]:
    """Draw the panel beside the page that runs within; its task and links follow once the page's state is known.

    A learner who is asked reads the question, then the page: the panel follows both.
    """
    notices.draw_notice(session_keys.LESSON_MISSING)
    glossary_terms.reset_terms()
    if open_lesson.get_open_stop() is None and Slots.get_followed_lesson() is None:
        yield
        return
    is_asked = Slots.load_pending() is not None
    lower_part = st.empty() if is_asked else _draw_upper_part()  # either way one element before the page's
    try:
        yield
    except StopException:
        _draw_lower_part(_draw_upper_part() if is_asked else lower_part, slug)
        raise
    _draw_lower_part(_draw_upper_part() if is_asked else lower_part, slug)


def _draw_upper_part() -> DeltaGenerator | None:
    """Draw the panel's title and text, usually before the page runs, because the panel narrows the page.

    Returns:
        The container for the task, the question and the links of an open lesson.
    """
    opened = open_lesson.get_open_stop()
    if opened is None:
        if (text := Slots.get_followed_lesson()) is not None:
            _draw_followed_lesson(text)
        return None
    with st.container(key=KEY):
        st.html(STYLE)
        st.html(BACKGROUND.format(PALETTES[selection.get_theme()].paper))
        _draw_head(opened)
        st.markdown(f"**{plain(opened.stop.title)}**")
        words = unbroken(opened.stop.words)
        st.markdown((glossary_terms.link_terms_verbatim if lessons.is_shipped(opened.name) else plain)(words))
        if opened.stop.picture:
            _draw_stop_image(opened.stop.picture)
        return st.container(gap="xsmall")


def _draw_stop_image(name: str) -> None:
    caption = lesson_pictures.CAPTIONS[name]
    image = lesson_pictures.PICTURES[name](selection.get_theme())
    st.image(image, alt=caption.partition(":")[0], width="stretch")
    st.caption(cite(caption))


def _draw_followed_lesson(text: LessonText) -> None:
    """Draw the stop of the teacher's own lesson for a learner, without links."""
    with st.container(key=KEY):
        st.html(STYLE)
        st.caption(f"Your teacher's lesson: {plain(text.lesson)}")
        st.progress(text.stop / text.stops, f"Stop {text.stop} of {text.stops}")
        st.markdown(f"**{plain(text.title)}**")
        st.markdown(plain(text.words))
        st.markdown(f":material/radio_button_unchecked: {plain(text.task)}")


def _draw_lower_part(container: DeltaGenerator | None, slug: str) -> None:
    if container is not None:
        with container:
            _draw_task_and_links(slug)


@st.fragment
def _draw_task_and_links(slug: str) -> None:
    """Draw the task, question and links; the fragment reruns alone if only the address changes."""
    open_lesson.check_task()
    opened = open_lesson.get_open_stop()
    if opened is None:
        return
    _draw_task(opened)
    _draw_selection(opened)
    if opened.stop.question is not None and slug == opened.stop.link.slug:
        _draw_question(opened)
    _draw_links(opened, slug)
    link = sorted(map(list, open_lesson.read_page_state().link.items()))
    _panel_foot(pack({"link": link, "done": opened.done}), key="lesson.foot", triggers=("look",))


def _draw_head(opened: OpenStop) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.caption(plain(opened.lesson.title), width="content")
        if st.button(
            "", icon=":material/close:", key="lesson.leave", type="tertiary", help="Close the lesson"
        ):
            open_lesson.leave_lesson()
            st.rerun()
    count = len(opened.lesson.stops)
    st.progress(opened.number / count, f"Stop {opened.number} of {count}")


def _draw_task(opened: OpenStop) -> None:
    task = plain(opened.stop.task)
    with st.container(key="lesson_task"):
        if opened.done:
            finding = plain(stop_finding.write_finding(opened))
            done = f"**This shows:** {finding}" if finding else f"**Done:** :gray[{task}]"
            st.markdown(f":green[:material/check_circle:] {done}")
        else:
            st.markdown(f":material/radio_button_unchecked: {task}")


def _draw_question(opened: OpenStop) -> None:
    assert opened.stop.question is not None
    with st.container(border=True):
        key = f"lesson.{opened.name}.{opened.number}"
        prediction.draw(opened.stop.question, key, opened.progress.answers, opened.number)


def _draw_links(opened: OpenStop, slug: str) -> None:
    own_slug, last = opened.stop.link.slug, len(opened.lesson.stops)
    question = opened.stop.question  # the next stop's text may name its answer
    hidden = question is not None and Slots.is_hidden(question.measure)
    if slug != own_slug:
        _draw_stop_link(
            opened,
            opened.number,
            f"Back to this stop: {registry.BY_SLUG[own_slug].title}",
            "undo",
            "lesson_here",
        )
    with st.container(key="lesson_ways", horizontal=True, horizontal_alignment="distribute", gap="xsmall"):
        if opened.number > 1:
            _draw_stop_link(opened, opened.number - 1, "Back", "arrow_back", "lesson_back")
        if slug == own_slug:
            _draw_stop_link(
                opened,
                opened.number,
                "Reset",
                "restart_alt",
                "lesson_again",
                "Reset the page to the start of this stop",
            )
        if opened.number < last and not hidden:
            _draw_stop_link(
                opened, opened.number + 1, "Next" if opened.done else "Skip", "arrow_forward", "lesson_next"
            )
    if opened.number == last and opened.done:
        st.markdown(":green[:material/flag:] You completed the last stop.")
        if slug != LESSONS_SLUG:
            selection.link_to(LESSONS_SLUG, "Other lessons and my answers")


def _draw_stop_link(
    opened: OpenStop, number: int, label: str, icon: str, key: str, hover: str | None = None
) -> None:
    with st.container(key=key, width="content"):
        open_lesson.draw_link(opened.name, opened.lesson, number, label, icon, hover)


# ------------------------------------------- the step or the image, as phones and presentations hide the sidebar


def _draw_selection(opened: OpenStop) -> None:
    """Draw the sidebar's control that the stop's task needs, if any; it changes the sidebar's selection."""
    check = opened.stop.check
    if isinstance(check, StepInRange):
        _draw_step_slider()
    elif isinstance(check, ImageChosen) and not opened.stop.link.values.get("image", "").startswith(
        "drawing:"
    ):
        if not check.key:  # any other image completes the task
            _draw_upload()
        _draw_next_button()


def _draw_step_slider() -> None:
    model, step = selection.get_model_choice(), selection.get_current().step
    if len(model.steps) == 1 or sidebar.follow_newest_step(model):
        return
    payload = pack({"steps": list(model.steps), "at": model.steps.index(step)})
    new_step = _step_view(payload, key="lesson.step", triggers=("step",)).step
    if new_step in model.steps and new_step != step:  # messages from the browser are untrusted
        query_params.request_value("step", str(new_step))
        st.rerun()


def _draw_upload() -> None:
    """Draw the upload; a new image reruns the page, because the panel's fragment runs alone."""
    image_picker.draw_upload("lesson")
    if session_keys.get_control_values().get("image") != selection.get_current().image:
        st.rerun()


def _draw_next_button() -> None:
    name, _, index = selection.get_current().image.partition(":")
    if not has_images(name):
        return
    if st.button("Next test image", icon=":material/skip_next:", key="lesson.picture"):
        selection.set_image(f"{name}:{(int(index) + 1) % shared_cache.count_test_images(name)}")
        st.rerun()

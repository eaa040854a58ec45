"""Edit the user's own lesson: add pages, name, write, order and remove its stops, and download it as a file.

The stops are thumbnails of a storyboard, which are dragged into their order.
"""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from pages.controls import downloads, notices, session_keys, widgets
from pages.controls.notices import toast_errors
from pages.lessons import lesson_cards, open_lesson
from pages.questions import question_form
from pages.stores import lessons, registry, session
from pages.views.event_values import read_events, read_index, read_index_pair
from pages.views.register import register
from vitviz.lessons import task_checks
from vitviz.lessons.lesson import (
    MAX_ABOUT_LENGTH,
    MAX_TASK_LENGTH,
    MAX_TITLE_LENGTH,
    MAX_WORDS,
    MAX_WORDS_LENGTH,
    Lesson,
    Stop,
)
from vitviz.lessons.lesson_file import write_lesson
from vitviz.lessons.task_checks import Check, PageOpen
from vitviz.plots.blob import pack
from vitviz.text import plain

_TURN, _ERROR = "lessons._edited", "lessons._refused"
BOARD, _STOP = "lessons.board", "lessons._stop"  # the storyboard and the number of its selected stop
EMPTY = "Your lesson is empty. Open a page, set its controls, and press 'Add to my lesson' at the end of the page."
UNCHANGED = "as in the file"
NEW_LESSON_TITLE = "My lesson"
NEW_STOP_WORDS = "What do you see here?"
NEW_STOP_TASK = "Look at the figure, then continue."
SLUG = "lessons"

_storyboard = register(__file__, "storyboard")


def reset_forms() -> None:
    """Reset every form to the lesson's contents after its stops have changed."""
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1


def draw_empty_card() -> None:
    """Draw the card of a lesson without stops: how to add them."""
    with st.container(border=True, height="stretch", key="lesson-card-empty"):
        st.html('<div class="vv-empty" aria-hidden="true"></div>')
        st.markdown(f"**{NEW_LESSON_TITLE}**  \n:gray[{EMPTY}]")


def has_lesson() -> bool:
    return lessons.MINE in lessons.get_shelf(session.get_current()).own


def draw() -> None:
    """Draw the storyboard of the lesson's stops, the forms of its title and of the selected stop, and the download."""
    own_lessons = lessons.get_shelf(session.get_current()).own
    _apply_board_events(len(own_lessons[lessons.MINE].stops))
    lesson = own_lessons[lessons.MINE]
    number = min(st.session_state.get(_STOP, 1), len(lesson.stops))
    stops = [(stop.title, registry.BY_SLUG[stop.link.slug].title, stop.link.slug) for stop in lesson.stops]
    message = pack({"stops": stops, "selected": number - 1})
    _storyboard(message, key=BOARD, triggers=("pick", "move"))
    turn = st.session_state.setdefault(_TURN, 0)
    notices.draw_notice(_ERROR)
    with st.container(border=True):
        _draw_stop(lesson, number, lesson.stops[number - 1], f"lessons.edit.{turn}.{number}")
    _draw_title_form(lesson, turn)
    lesson_cards.draw_cards({lessons.MINE: lesson})
    downloads.download(
        "Download my lesson", lambda: write_lesson(lesson), "my_lesson.toml", "lessons.download"
    )


def _apply_board_events(count: int) -> None:
    """Select the stop that was clicked on the storyboard, or move the one that was dragged; both count from 0."""
    events = read_events(BOARD)
    picked, moved = read_index(events.get("pick")), read_index_pair(events.get("move"))
    if picked is not None and picked < count:
        st.session_state[_STOP] = picked + 1
    if moved is not None and max(moved) < count:
        _move_stop(moved[0] + 1, moved[1] + 1)


def _draw_title_form(lesson: Lesson, turn: int) -> None:
    key = f"lessons.edit.{turn}"
    with st.form(f"{key}.head", border=False):
        title, about = st.columns([1, 2])
        title.text_input("Title", lesson.title, max_chars=MAX_TITLE_LENGTH, key=f"{key}.title")
        about.text_input("Summary", lesson.about, max_chars=MAX_ABOUT_LENGTH, key=f"{key}.about")
        st.form_submit_button("Save title", on_click=_save_title, args=(key,))


def _save_title(key: str) -> None:
    fields = st.session_state
    title, about = _join_lines(fields[f"{key}.title"]), _join_lines(fields[f"{key}.about"])
    _change(lambda lesson: replace(lesson, title=title, about=about))


def _draw_stop(lesson: Lesson, number: int, stop: Stop, key: str) -> None:
    st.text_input("Title", stop.title, max_chars=MAX_TITLE_LENGTH, key=f"{key}.title")
    st.text_area(
        f"Text, at most {MAX_WORDS} words", stop.words, max_chars=MAX_WORDS_LENGTH, key=f"{key}.words"
    )
    st.text_input("Task", stop.task, max_chars=MAX_TASK_LENGTH, key=f"{key}.task")
    _draw_check_fields(stop, key)
    question_form.draw_form(f"{key}.question", stop.question, optional=True)
    st.button("Save stop", key=f"{key}.save", on_click=_save_stop, args=(number, key))
    with st.container(horizontal=True):
        open_lesson.draw_link(lessons.MINE, lesson, number, "Open stop", "visibility")
        for label, icon, position in (
            ("Move earlier", "arrow_back", number - 1),
            ("Move later", "arrow_forward", number + 1),
        ):
            is_end = not 1 <= position <= len(lesson.stops)
            widgets.button(
                label,
                key=f"{key}.{icon}",
                icon=f":material/{icon}:",
                type="tertiary",
                why_not=f"this is the {'first' if position < number else 'last'} stop" if is_end else "",
                on_click=_move_stop,
                args=(number, position),
            )
        st.button(
            "Remove stop",
            key=f"{key}.remove",
            icon=":material/delete:",
            type="tertiary",
            on_click=_remove_stop,
            args=(number,),
        )


def list_checks(stop: Stop) -> dict[str, Check]:
    """Return the checks that a stop may use, by label."""
    slug = stop.link.slug
    checks: dict[str, Check] = {
        "the page is open": task_checks.PageOpen(slug),
        "another token is pinned": task_checks.TokenPinned(),
        "another image is chosen": task_checks.ImageChosen(),
        "another model is chosen": task_checks.ModelChosen(),
        "the step is set to 0": task_checks.StepInRange(at_most=0),
        "the question is answered": task_checks.PredictionMade(),
    }
    checks |= {f"{key} is changed": task_checks.ControlSet(key) for key in stop.link.values if "." in key}
    return checks if stop.check in checks.values() else {UNCHANGED: stop.check, **checks}


def _draw_check_fields(stop: Stop, key: str) -> None:
    checks = list_checks(stop)
    selected = next(label for label, check in checks.items() if check == stop.check)
    st.selectbox(
        "Done when", list(checks), index=list(checks).index(selected), key=f"{key}.check", format_func=plain
    )


def _save_stop(number: int, key: str) -> None:
    def edit(lesson: Lesson) -> Lesson:
        fields, stop = st.session_state, lesson.stops[number - 1]
        new = replace(
            stop,
            title=_join_lines(fields[f"{key}.title"]),
            words=_join_lines(fields[f"{key}.words"]),
            task=_join_lines(fields[f"{key}.task"]),
            check=list_checks(stop)[fields[f"{key}.check"]],
            question=question_form.read_form(f"{key}.question", stop.question),
        )
        return replace(lesson, stops=(*lesson.stops[: number - 1], new, *lesson.stops[number:]))

    _change(edit)


def _move_stop(number: int, position: int) -> None:
    def edit(lesson: Lesson) -> Lesson:
        stops = [*lesson.stops]
        stops.insert(position - 1, stops.pop(number - 1))
        return replace(lesson, stops=tuple(stops))

    st.session_state[_STOP] = position
    _change(edit)


def _remove_stop(number: int) -> None:
    own_lessons = lessons.get_shelf(session.get_current()).own
    if len(own_lessons[lessons.MINE].stops) == 1:
        del own_lessons[lessons.MINE]
    else:
        _change(lambda lesson: replace(lesson, stops=(*lesson.stops[: number - 1], *lesson.stops[number:])))
    reset_forms()


def _change(edit: Callable[[Lesson], Lesson]) -> None:
    """Replace the user's own lesson by an edited one, or store why it is invalid."""
    own_lessons = lessons.get_shelf(session.get_current()).own
    try:
        own_lessons[lessons.MINE] = edit(own_lessons[lessons.MINE])
        reset_forms()
        notices.clear_notice(_ERROR)
    except ValueError as error:
        notices.store_notice(_ERROR, f"Not saved: {error}.")


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def draw_add_button(slug: str) -> None:
    """Draw the button at the end of the page, except on pages that show nothing of a model."""
    if slug in (SLUG, "class_room"):
        return
    st.button(
        "Add to my lesson",
        key="my_lesson.add",
        icon=":material/bookmark_add:",
        type="tertiary",
        on_click=_add_page,
        args=(slug,),
        help="Adds this page, with model, step, image, pin and controls, to your lesson.",
    )


def _add_page(slug: str) -> None:
    """Add the page as shown, in a callback, so that it includes what the last run has drawn."""
    if slug != st.session_state.get(session_keys.PAGE):
        return  # the next page interrupted the click's run, and Streamlit serves the click again
    own_lessons = lessons.get_shelf(session.get_current()).own
    page = registry.BY_SLUG[slug]
    lesson = own_lessons.get(lessons.MINE)
    with toast_errors("The page cannot be added"):  # too many stops, or a control that no link can hold
        stop = Stop(page.title, open_lesson.link_page(), NEW_STOP_WORDS, NEW_STOP_TASK, PageOpen(page.slug))
        own_lessons[lessons.MINE] = (
            Lesson(NEW_LESSON_TITLE, (stop,))
            if lesson is None
            else replace(lesson, stops=(*lesson.stops, stop))
        )
        count = len(own_lessons[lessons.MINE].stops)
        st.toast(f"Added as stop {count}. Edit it on the page 'Lessons'.", icon=":material/bookmark_added:")

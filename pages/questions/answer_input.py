"""Draw the form of a question, one widget for each kind of answer: on pages, in lessons and in a class."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.views.register import register
from vitviz.lessons.question_kinds import (
    MAX_TEXT_ANSWER,
    Answer,
    AnswerKind,
    Arrange,
    Choose,
    Drag,
    Point,
    Write,
)
from vitviz.plots.blob import pack
from vitviz.text import plain

if TYPE_CHECKING:
    from vitviz.plots.photo import Photo

NO_CELL = -1
LABEL = "Your answer"  # of every form: screen readers read the prompt with the signs of its Markdown
_answer_points = register(__file__, "answer_points")


def draw_input(
    kind: AnswerKind,
    key: str,
    prompt: str,
    write: Callable[[str], str] = plain,
    *,
    load_photo: Callable[[], Photo | None] = lambda: None,
    on_page: bool = False,
    more: Mapping[str, str] | None = None,
    on_change: Callable[[], None] | None = None,
) -> Answer | None:
    """Draw the question with its form; return the answer, or None before there is one.

    Args:
        key: of the widget.
        prompt: the question.
        write: makes Markdown of the prompt and the options.
        load_photo: returns the image of a question about a patch.
        on_page: True if the page's own picture shows that image; the patch is selected there.
        more: further options of a multiple-choice question, by name.
        on_change: called after an option was clicked.
    """
    with st.container(gap=None):
        draw_prompt(write(prompt))
        if isinstance(kind, Choose):
            draw_options(kind, key, write, more=more, on_change=on_change)
        elif isinstance(kind, Drag):
            _draw_number(kind, key)
        elif isinstance(kind, Arrange):
            st.multiselect(
                LABEL,
                kind.items,
                key=key,
                format_func=plain,
                placeholder="Select all, the first one first",
                label_visibility="collapsed",
            )
        elif isinstance(kind, Write):
            st.text_input(
                LABEL,
                key=key,
                max_chars=MAX_TEXT_ANSWER,
                placeholder="Your answer in a few words",
                label_visibility="collapsed",
            )
        else:
            _draw_patches(kind, key, load_photo(), on_page)
    return read_input(kind, key)


def read_input(kind: AnswerKind, key: str) -> Answer | None:
    """Return the answer in the form, also in a callback; None before there is one."""
    state: Any = st.session_state
    if isinstance(kind, Choose):
        return kind.decode(state.get(key) or "")
    if isinstance(kind, Drag):
        number: float | None = state.get(key if kind.is_typed else get_moved_key(key))
        return None if number is None else float(number) / _get_scale(kind)
    if isinstance(kind, Arrange):
        items: Sequence[str] = state.get(key) or ()
        return kind.number_order(items) if len(items) == len(kind.items) else None
    if isinstance(kind, Write):
        return str(state.get(key) or "").strip() or None
    cell: int | None = state.get(get_moved_key(key))
    return None if cell is None else float(cell)


def explain_missing(kind: AnswerKind, answer: Answer | None) -> str:
    """Return why the answer's button is disabled; '' for typed answers: it must not wait until the field is left."""
    is_typed = isinstance(kind, Write) or (isinstance(kind, Drag) and kind.is_typed)
    return "" if is_typed or answer is not None else "answer first"


def get_moved_key(key: str) -> str:
    """Return the session key of the number or patch that the user has set."""
    return f"{key}.said"


def _get_scale(kind: Drag) -> float:
    return 100.0 if kind.unit == "%" else 1.0


def draw_prompt(text: str) -> None:
    """Draw a question's prompt in Markdown."""
    st.markdown(f":material/quiz: {text if '**' in text else f'**{text}**'}")


def draw_options(
    kind: Choose,
    key: str,
    write: Callable[[str], str] = plain,
    *,
    more: Mapping[str, str] | None = None,
    on_change: Callable[[], None] | None = None,
    guess: Answer | None = None,
    right: Collection[Answer] = (),
) -> None:
    """Draw the options, disabled after the answer `guess`, which is selected; an icon marks `right` and wrong."""
    marks = {} if guess is None or not right else {guess: ":material/close: "}
    marks |= dict.fromkeys(right, ":material/check: ")
    options = {
        kind.encode(place): marks.get(place, "") + write(option) for place, option in enumerate(kind.options)
    } | dict(more or {})
    if guess is not None:
        st.session_state[key] = kind.encode(guess)
    st.pills(
        LABEL,
        list(options),
        key=key,
        format_func=options.__getitem__,
        on_change=on_change,
        disabled=guess is not None,
        label_visibility="collapsed",
    )


def _draw_number(kind: Drag, key: str) -> None:
    """Draw a field for a number, or a slider that has no value before it is moved."""
    if kind.is_typed:
        convert: Callable[[float], float] = float if kind.digits else int
        st.number_input(
            LABEL,
            convert(kind.low),
            convert(kind.high),
            None,
            convert(kind.step),
            key=key,
            format=f"%.{kind.digits}f" if kind.digits else "%d",
            placeholder=kind.unit or "a number",
            label_visibility="collapsed",
        )
        return

    def store_number() -> None:
        st.session_state[get_moved_key(key)] = st.session_state[key]

    moved_to: float | None = st.session_state.get(get_moved_key(key))
    scale = _get_scale(kind)  # a float, as all numbers of a slider must have one type
    middle = round((kind.low + kind.high) / 2 / kind.step) * kind.step
    st.slider(
        LABEL,
        scale * kind.low,
        scale * kind.high,
        scale * middle if moved_to is None else moved_to,
        scale * kind.step,
        key=key,
        format=f"%.{0 if scale * kind.step >= 1 else 2}f {kind.unit.replace('%', '%%')}".strip(),
        on_change=store_number,
        label_visibility="collapsed",
    )
    if moved_to is None:
        st.caption("Drag the slider to your answer.")


def _draw_patches(kind: Point, key: str, photo: Photo | None, on_page: bool) -> None:
    selected: int | None = st.session_state.get(get_moved_key(key))
    label = "Image of the question: select a patch"
    cell = draw_points(photo, kind, (), guess=selected, label=label, key=key, on_page=on_page)
    if cell is not None and cell != selected:
        st.session_state[get_moved_key(key)] = cell
        context = get_script_run_ctx()
        in_fragment = context is not None and context.fragment_ids_this_run
        st.rerun(scope="fragment" if in_fragment else "app")
    st.caption("Select a patch." if selected is None else f"Your answer: {kind.format_answer(selected)}.")


def draw_points(
    photo: Photo | None,
    kind: Point,
    counts: Sequence[int],
    *,
    guess: int | None,
    measured: int | None = None,
    label: str,
    key: str,
    on_page: bool = False,
) -> int | None:
    """Draw the question's image with its patches; return the patch that was clicked in this run, in reading order.

    Args:
        counts: answers per patch in reading order; empty while a patch can be selected.
        guess: the user's patch.
        measured: the measured patch.
        label: for screen readers.
        on_page: True if the page's own picture shows the image; the marks are drawn there.
    """
    header = {
        "onPage": on_page,
        "grid": kind.grid,
        "own": NO_CELL if guess is None else guess,
        "measured": NO_CELL if measured is None else measured,
        "words": label,
        "takes": not counts,
        **({} if photo is None else photo.header),
    }
    arrays = {"counts": np.asarray(counts, np.uint16)} | ({} if photo is None else {"photo": photo.array})
    cell = _answer_points(pack(header, **arrays), key=key, triggers=("pick",)).pick
    return cell if type(cell) is int and not counts and 0 <= cell < kind.count_answers() else None


def draw_hidden_notice() -> None:
    st.caption(
        "Your class is asked this now: answer in your teacher's question. The teacher shows the measured value."
    )

"""Ask the class a question, collect its answers, and draw the question on every page."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from html import escape
from math import isnan
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.classroom import membership
from pages.classroom.membership import Membership
from pages.controls import query_params, session_keys
from pages.frame import registry
from pages.questions.number_slider import draw_number_slider, get_moved_key
from pages.selection import selection
from pages.stores import cached, classes, session
from pages.views.register import register
from vitviz.classes import question_store
from vitviz.classes.class_question import (
    ClassQuestion,
    HistogramBar,
    build_histogram,
    describe_answers,
    validate_answer,
)
from vitviz.classes.database import ClassError
from vitviz.classes.question_store import QuestionState
from vitviz.classes.shared_view import is_private
from vitviz.lessons.lesson import Link
from vitviz.lessons.question_kinds import Choose, Drag, Measure, Point
from vitviz.plots.blob import pack
from vitviz.text import plain, plural

if TYPE_CHECKING:
    from pages.selection.subject import Subject
    from vitviz.lessons import lesson
    from vitviz.plots.photo import Photo

KEY = "class_asked"
_POINTED = "class.pointed"  # (number of the question, selected patch) of the current question
_NO_CELL = -1
_answer_points = register(__file__, "answer_points")
# Drawn with the class bar: a style sheet in a polled fragment would replace one that the page has drawn.
STYLE = """
.st-key-class_asked { padding-bottom: .6rem; }
.class-new { position: fixed; z-index: 100; bottom: 1.25rem; left: 50%; transform: translateX(-50%);
  width: max-content; max-width: calc(100vw - 2rem); padding: .6rem 1rem; border-radius: 8px; pointer-events: none;
  background: #2457a6; color: #ffffff; }
.class-asked { display: none; }
@media (prefers-reduced-motion: no-preference) {
  .class-new { display: block; animation: class-new 7s forwards; }
}
@keyframes class-new { 0%, 85% { opacity: 1; } 100% { opacity: 0; visibility: hidden; } }
.class-bars { display: grid; grid-template-columns: max-content 1fr max-content; gap: 4px 12px; align-items: center;
  max-width: 640px; font-variant-numeric: tabular-nums; }
.class-bars span { overflow-wrap: anywhere; max-width: 16rem; }
.class-bars i { display: block; height: 18px; min-width: 2px; border-radius: 3px; background: #0072b2; }
.class-bars .found { font-weight: 650; }
.class-bars .found + i { background: #d9480f; }
html[data-vitviz-present] .class-bars { max-width: none; }
html[data-vitviz-present] .class-bars i { height: 1.6rem; }
@media (max-width: 640px) {
  .class-bars span { max-width: 8rem; }
  .class-new { bottom: 9.5rem; }
}
"""


# ---------------------------------------------------------------- hiding the measured answer


def load_pending() -> QuestionState | None:
    """Return the class's question whose measured answer is still hidden from this learner; None if there is none."""
    member = membership.get_membership()
    if member is None or member.leads:
        return None
    with suppress(ClassError):
        state = question_store.load_question(membership.get_class_store(), member.code)
        return state if state is not None and state.stage != "measured" else None
    return None


def is_hidden(measure: Measure) -> bool:
    """Return True if the class is asked a question of this measure, and the teacher has not shown the answer."""
    pending = load_pending()
    return pending is not None and type(pending.question.measure) is type(measure)


def draw_hidden_notice() -> None:
    st.caption(
        "Your class is asked this now: answer at the top of the page. The teacher shows the measured value."
    )


# ---------------------------------------------------------------- asking


def draw_ask_button(question: lesson.Question, subject: Subject, key: str) -> None:
    """Draw the teacher's button beside a question; nothing for learners and outside of a class."""
    member = membership.get_membership()
    if member is None or not member.leads:
        return
    why_not = _explain_private(member, subject)
    st.button(
        "Ask the class",
        key=f"{key}.class",
        icon=":material/record_voice_over:",
        width="stretch",
        disabled=bool(why_not),
        help=why_not or "All learners can answer; answers stay hidden until you show them.",
        on_click=_ask_class,
        args=(question, subject),
    )


def _explain_private(member: Membership, subject: Subject) -> str:
    """Return why the class cannot be asked about this subject; '' if it can."""
    if is_private(subject.image) and subject.image not in member.images:
        return "Share your image with the class first."
    return "Uploaded weights cannot be shared with the class." if is_private(subject.choice.key) else ""


def _ask_class(question: lesson.Question, subject: Subject) -> None:
    member = membership.get_membership()
    if member is None:
        return
    with membership.toast_errors("The class was not asked"):
        class_question = ClassQuestion(
            prompt=question.prompt,
            kind=question.measure.get_answer_kind(subject),
            measure=question.measure,
            about=f"{subject.choice.title}, step {subject.step:,}, {cached.get_image_title(subject.image)}",
            model=subject.choice.key,
            step=subject.step,
            image=member.images.get(subject.image, subject.image),
            crop=subject.offset[0],
            proof=Link(st.session_state.get(session_keys.PAGE) or "home", question.proof),
        )
        question_store.ask_question(membership.get_class_store(), member.code, class_question)


# ---------------------------------------------------------------- answering, on every page


def draw_question(member: Membership) -> None:
    """Draw the class's question, if there is one, at every poll.

    Raises:
        ClassError: if the database of classes cannot be used.
    """
    state = question_store.load_question(membership.get_class_store(), member.code)
    if state is None:
        return
    with st.container(key=KEY):
        st.markdown(f":material/quiz: **{plain(state.question.prompt)}**")
        st.caption(plain(state.question.about))
        answer = _get_answer(member, state)
        if state.stage == "open" and answer is None:
            sentence = "Question sent: answers appear" if member.leads else "New question from your teacher"
            css = "class-new class-asked" if member.leads else "class-new"
            # A user who has scrolled down does not see the top of the page, so a notice is drawn at the foot of the
            # screen. With reduced motion it stays until there is an answer, and the teacher sees none.
            st.html(f'<div class="{css}" role="status">{sentence} at the top of the page.</div>')
        if state.stage != "measured" and answer is None and not member.leads:
            _draw_form(member, state)
        else:
            _draw_answers(member, state, answer)
        if member.leads:
            _draw_teacher_buttons(member, state)


def _get_answer(member: Membership, state: QuestionState) -> float | None:
    """Return the user's answer in this session; NaN if the answer was given in another session."""
    if member.leads or state.number in member.answers:
        return member.answers.get(state.number)
    if state.stage != "measured" and question_store.has_answered(
        membership.get_class_store(), member.code, state.number, session.get_current().token
    ):
        member.answers[state.number] = float("nan")
        return member.answers[state.number]
    return None


def _draw_form(member: Membership, state: QuestionState) -> None:
    answer = _draw_input(state)
    st.button(
        "Submit answer",
        key=f"class.answer.{state.number}",
        disabled=answer is None,
        on_click=_submit_answer,
        args=(member, state, answer),
    )


def _submit_answer(member: Membership, state: QuestionState, answer: float) -> None:
    with membership.toast_errors("Your answer was not counted"):
        answer = validate_answer(state.question.kind, answer)
        counted = question_store.submit_answer(
            membership.get_class_store(), member.code, state.number, session.get_current().token, answer
        )
        member.answers[state.number] = answer if counted else float("nan")
        st.session_state.pop(get_moved_key(_build_input_key(state)), None)


def _build_input_key(state: QuestionState) -> str:
    return f"class.guess.{state.number}"


def _draw_input(state: QuestionState) -> float | None:
    kind, key = state.question.kind, _build_input_key(state)
    if isinstance(kind, Choose):
        option = st.radio(
            "Your answer",
            list(range(len(kind.options))),
            index=None,
            key=key,
            format_func=lambda index: plain(kind.options[index]),
            label_visibility="collapsed",
        )
        return None if option is None else float(option)
    if isinstance(kind, Drag):
        return draw_number_slider(kind, key, "Your answer")
    number, selected = st.session_state.get(_POINTED, (None, None))
    selected = selected if number == state.number else None
    cell = _draw_points(
        state.question, kind, (), own=selected, label="Image of the question: select a patch", key=key
    )
    if cell is not None and cell != selected:
        st.session_state[_POINTED] = (state.number, cell)
        context = get_script_run_ctx()
        in_fragment = context is not None and context.fragment_ids_this_run
        st.rerun(scope="fragment" if in_fragment else "app")
    st.caption("Select a patch." if selected is None else f"Your answer: {kind.format_answer(selected)}.")
    return None if selected is None else float(selected)


def _draw_points(
    question: ClassQuestion,
    kind: Point,
    counts: Sequence[int],
    *,
    own: int | None,
    measured: int | None = None,
    label: str,
    key: str,
) -> int | None:
    """Draw the question's image with its patches; return the patch that was clicked in this run, in reading order.

    Args:
        counts: answers per patch in reading order; empty while a patch can be selected.
        own: the user's patch.
        measured: the measured patch.
        label: for screen readers.
    """
    photo, cells = _encode_photo(question), kind.grid[0] * kind.grid[1]
    header = {
        "grid": kind.grid,
        "own": _NO_CELL if own is None else own,
        "measured": _NO_CELL if measured is None else measured,
        "words": label,
        "takes": not counts,
        **({} if photo is None else photo.header),
    }
    arrays = {"counts": np.asarray(counts, np.uint16)} | ({} if photo is None else {"photo": photo.array})
    cell = _answer_points(pack(header, **arrays), key=key, triggers=("pick",)).pick
    return cell if type(cell) is int and not counts and 0 <= cell < cells else None


def _encode_photo(question: ClassQuestion) -> Photo | None:
    """Return the question's image as the model sees it; None if this session lacks the model or the image."""
    choice = selection.list_models().get(question.model)
    if choice is None:
        return None
    try:
        member = membership.get_membership()
        if member is not None:
            classes.load_image(member.code, question.image)
        return cached.encode_photo(question.image, choice.preparation, (question.crop, question.crop), True)
    except (KeyError, ClassError):
        return None


# ---------------------------------------------------------------- answers


def _draw_answers(member: Membership, state: QuestionState, answer: float | None) -> None:
    """Draw the answer count, the answers once they are shown, and the measured answer at the end."""
    kind, measured = state.question.kind, state.measured
    if answer is not None and not isnan(answer):
        st.markdown(f"Your answer: **{plain(kind.format_answer(answer))}**")
    if state.stage == "open":
        count = f"{plural(state.answers, 'answer')}, hidden until you show them."
        st.caption(count if member.leads else "Answers are hidden until your teacher shows them.")
        return
    if isinstance(kind, Point):
        _draw_chosen_patches(state, kind, answer)
    else:
        st.html(_format_histogram(build_histogram(kind, state.tally, measured, answer), state.answers))
    if measured is None:
        st.caption(f"{plural(state.answers, 'answer')} so far.")
        return
    st.markdown(f"Measured: **{plain(measured.format_answer(kind))}**. {plain(measured.words)}")
    st.caption(plain(describe_answers(kind, state.tally, measured)))


def _draw_chosen_patches(state: QuestionState, kind: Point, answer: float | None) -> None:
    most_frequent = sorted(state.tally.items(), key=lambda pair: -pair[1])[:5]
    text = "; ".join(f"{kind.format_answer(cell)}: {count}" for cell, count in most_frequent) or "no answer"
    _draw_points(
        state.question,
        kind,
        [state.tally.get(float(cell), 0) for cell in range(kind.grid[0] * kind.grid[1])],
        own=None if answer is None or isnan(answer) else int(answer),
        measured=None if state.measured is None else int(state.measured.value),
        label=f"Answers of the class: {text}",
        key=f"class.points.{state.number}",
    )


def _format_histogram(histogram: list[HistogramBar], answers: int) -> str:
    most = max([bar.count for bar in histogram] or [1]) or 1
    rows = []
    for bar in histogram:
        marks = [mark for mark, applies in (("measured", bar.measured), ("yours", bar.own)) if applies]
        name = escape(bar.label) + (f" ({', '.join(marks)})" if marks else "")
        css = ' class="found"' if bar.measured else ""
        rows.append(
            f'<span{css}>{name}</span><i style="width: {100 * bar.count / most:.1f}%"></i><b>{bar.count}</b>'
        )
    counts = ", ".join(f"{bar.label}: {bar.count}" for bar in histogram)
    label = escape(f"{plural(answers, 'answer')}: {counts}")
    return f'<div class="class-bars" role="img" aria-label="{label}">{"".join(rows)}</div>'


# ---------------------------------------------------------------- the teacher's buttons


def _draw_teacher_buttons(member: Membership, state: QuestionState) -> None:
    with st.container(horizontal=True):
        if state.stage == "open":
            st.button("Show answers", key="class.show_answers", on_click=_show_answers, args=(member, state))
        if state.stage != "measured" and st.button("Measure and show", key="class.measure"):
            _measure_answer(member, state)
        st.button("End question", key="class.end", type="tertiary", on_click=_end_question, args=(member,))


def _show_answers(member: Membership, state: QuestionState) -> None:
    with membership.toast_errors("The answers are still hidden"):
        question_store.reveal_answers(membership.get_class_store(), member.code, state.number)


def _end_question(member: Membership) -> None:
    with membership.toast_errors("The question is still open"):
        question_store.end_question(membership.get_class_store(), member.code)


def _measure_answer(member: Membership, state: QuestionState) -> None:
    """Run the question's model, show the measured answer to the class, and apply the proof to this page."""
    from pages.selection import subject

    question = state.question
    choice = selection.list_models().get(question.model)
    if choice is None:
        st.warning("The model of this question is unavailable.", icon=":material/info:")
        return
    classes.load_image(member.code, question.image)
    try:
        with st.spinner("Measuring …"):
            loaded = subject.load_subject(
                choice, question.step, question.image, (question.crop, question.crop)
            )
            measured = question.measure.measure_answer(loaded)
            question_store.store_measured_answer(
                membership.get_class_store(), member.code, state.number, measured
            )
    except KeyError:
        st.warning("The image of this question is unavailable.", icon=":material/info:")
        return
    proof = question.proof
    if proof.slug == st.session_state.get(session_keys.PAGE) and proof.slug in registry.BY_SLUG:
        for name, value in proof.query:
            query_params.request_value(name, value)
    st.rerun()

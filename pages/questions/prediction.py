"""Ask for a prediction, measure the answer and show both."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from pages.controls import query_params, widgets
from pages.frame.slots import Slots
from pages.questions.answer_input import (
    draw_hidden_notice,
    draw_input,
    draw_options,
    draw_prompt,
    explain_missing,
    get_moved_key,
)
from pages.stores import lessons, session
from pages.stores.lessons import StoredAnswer
from vitviz.lessons.authored_questions import AuthoredMeasure
from vitviz.lessons.lesson import Question
from vitviz.lessons.question_kinds import Answer, AnswerKind, Choose, MeasuredAnswer
from vitviz.text import plain

if TYPE_CHECKING:
    from pages.selection.subject import Subject

Name = TypeVar("Name")


def draw(
    question: Question,
    key: str,
    answers: MutableMapping[Name, StoredAnswer],
    name: Name,
    at: Subject | None = None,
    is_open: bool = False,
) -> None:
    """Draw the question with its form, or with the prediction and the measured answer.

    Args:
        key: prefix of the widgets' keys.
        answers: the user's, where the answer is stored under `name`.
        at: the model, step and image to measure; by default the sidebar's.
        is_open: True asks again although there is an answer.
    """
    answer = None if is_open else answers.get(name)
    if Slots.is_hidden(question.measure):  # the class bar shows the prompt
        draw_hidden_notice()
        return
    if answer is not None:
        draw_prompt(plain(question.prompt))
        st.session_state.pop(get_moved_key(f"{key}.guess"), None)
        _draw_answer(answer, key)
        if st.button("Predict again", key=f"{key}.again", type="tertiary"):
            answers.pop(name, None)
            st.rerun()
        return
    at = load_subject() if at is None else at
    if why := question.measure.why_not(at):
        draw_prompt(plain(question.prompt))
        st.caption(f"Not available for this model: {plain(why)}")
        return
    kind, subject = question.measure.get_answer_kind(at), at
    guess = draw_input(kind, f"{key}.guess", question.prompt, load_photo=lambda: subject.ground(True))
    is_pressed = widgets.button(
        "Check" if isinstance(question.measure, AuthoredMeasure) else "Measure",
        key=f"{key}.measure",
        why_not=explain_missing(kind, guess),
        width="stretch",
    )
    if is_pressed and guess is not None:
        from pages.selection.subject import capture_attention

        with st.spinner("Measuring …"):
            measured = question.measure.measure_answer(capture_attention(at))
        answers[name] = _build_answer(question, kind, kind.validate(guess), measured, at)
        for control, text in question.proof:
            query_params.request_value(control, text)
        st.rerun()  # the whole page, which shows the proof
    Slots.offer_question(question, at, first=key.startswith("lesson."))


def ask_question(question: Question, key: str, at: Subject | None = None) -> None:
    """Draw a page's own question; its answer is stored while model, step and image stay the same.

    Args:
        key: the question's key, such as 'block.longer'.
        at: the model, step and image to measure; by default the sidebar's.
    """
    at = load_subject() if at is None else at
    answers = lessons.get_answers(session.get_current())
    is_open = key in answers and answers[key].where != _describe_context(at)
    draw(question, key, answers, key, at, is_open)


def load_subject() -> Subject:
    """Load the sidebar's selection; torch is imported only when a question is asked."""
    from pages.selection import subject

    return subject.load_current()


def _build_answer(
    question: Question, kind: AnswerKind, guess: Answer, measured: MeasuredAnswer, at: Subject
) -> StoredAnswer:
    return StoredAnswer(
        guess=guess,
        prompt=question.prompt,
        guessed=kind.format_answer(guess),
        measured=measured.format_answer(kind) if measured.right else "",
        words=f"{kind.describe_verdict(guess, measured)} {measured.words}",
        where=_describe_context(at),
        label=measured.label,
        right=measured.right,
        kind=kind,
    )


def _describe_context(at: Subject) -> str:
    image = "own image" if at.image.startswith(("upload:", "drawing:")) else at.image
    return f"{at.choice.title}, step {at.step:,}, {image}"


def _draw_answer(answer: StoredAnswer, key: str) -> None:
    if isinstance(answer.kind, Choose):
        draw_options(answer.kind, f"{key}.answer", guess=answer.guess, right=answer.right)
    else:
        left, right = st.columns(2)
        left.metric("Your prediction", answer.guessed)
        if answer.measured:
            right.metric(answer.label, answer.measured)
    st.caption(plain(answer.words))

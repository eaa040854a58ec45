"""Ask for a prediction, measure the answer and show both."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from pages.classroom import class_question
from pages.controls import query_params
from pages.questions.number_slider import draw_number_slider, get_moved_key
from pages.selection import selection
from pages.stores import lessons, session
from pages.stores.lessons import Answer
from vitviz.lessons.lesson import Question
from vitviz.lessons.question_kinds import AnswerKind, Choose, Drag, MeasuredAnswer
from vitviz.pin import Pin
from vitviz.text import plain

if TYPE_CHECKING:
    from pages.selection.subject import Subject

StoreAnswer = Callable[[Answer | None], None]


def draw(
    question: Question,
    key: str,
    answer: Answer | None,
    store: StoreAnswer,
    at: Subject | None = None,
    no_guess: Pin | None = None,
) -> None:
    """Draw the question with its form, or with the prediction and the measured answer.

    Args:
        key: prefix of the widgets' keys.
        answer: the earlier answer; None while the question is open.
        store: stores the answer, or None if the user predicts again; called while the page runs.
        at: the model, step and image to measure; by default the sidebar's.
        no_guess: for questions about a patch, a default pin that does not count as a prediction.
    """
    st.markdown(f":material/quiz: {plain(question.prompt)}")
    if class_question.is_hidden(question.measure):
        class_question.draw_hidden_notice()
        return
    if answer is not None:
        st.session_state.pop(get_moved_key(f"{key}.guess"), None)
        _draw_answer(answer)
        if st.button("Predict again", key=f"{key}.again", type="tertiary"):
            store(None)
            st.rerun()
        return
    at = load_subject() if at is None else at
    if why := question.measure.why_not(at):
        st.caption(f"Not available for this model: {plain(why)}")
        return
    kind = question.measure.get_answer_kind(at)
    guess = _draw_form(kind, key, no_guess)
    if (
        st.button("Measure", key=f"{key}.measure", disabled=guess is None, width="stretch")
        and guess is not None
    ):
        with st.spinner("Measuring …"):
            measured = question.measure.measure_answer(at)
        store(_build_answer(question, kind, guess, measured, at))
        for name, value in question.proof:
            query_params.request_value(name, value)
        st.rerun()  # the whole page, which shows the proof
    class_question.draw_ask_button(question, at, key)


def ask_question(question: Question, key: str, at: Subject | None = None) -> None:
    """Draw a page's own question; its answer is stored while model, step and image stay the same.

    Args:
        key: the question's key, such as 'block.longer'.
        at: the model, step and image to measure; by default the sidebar's.
    """
    at = load_subject() if at is None else at
    answers = lessons.get_answers(session.get_current())
    answer = answers.get(key)

    def store(new: Answer | None) -> None:
        if new is None:
            answers.pop(key, None)
        else:
            answers[key] = new

    draw(
        question,
        key,
        answer if answer is not None and answer.where == _describe_context(at) else None,
        store,
        at,
    )


def load_subject() -> Subject:
    """Load the sidebar's selection; torch is imported only when a question is asked."""
    from pages.selection import subject

    return subject.load_current()


def _draw_form(kind: AnswerKind, key: str, no_guess: Pin | None) -> float | None:
    """Draw the question's form and return the prediction, or None."""
    if isinstance(kind, Choose):
        options = list(range(len(kind.options)))
        return st.radio(
            "Your prediction",
            options,
            index=None,
            key=f"{key}.guess",
            format_func=lambda i: plain(kind.options[i]),
            label_visibility="collapsed",
        )
    if isinstance(kind, Drag):
        return draw_number_slider(kind, f"{key}.guess", "Your prediction")
    pin = selection.get_current().pin
    if pin.place is None or pin == no_guess:
        st.caption("Click a patch of the image to predict it.")
        return None
    cell = pin.cell(kind.grid)
    st.caption(f"Your prediction: {kind.format_answer(cell)}. Click another patch to change it.")
    return float(cell)


def _build_answer(
    question: Question, kind: AnswerKind, guess: float, measured: MeasuredAnswer, at: Subject
) -> Answer:
    return Answer(
        guess,
        question.prompt,
        kind.format_answer(guess),
        measured.format_answer(kind),
        f"{kind.describe_verdict(guess, measured)} {measured.words}",
        _describe_context(at),
    )


def _describe_context(at: Subject) -> str:
    image = "own image" if at.image.startswith(("upload:", "drawing:")) else at.image
    return f"{at.choice.title}, step {at.step:,}, {image}"


def _draw_answer(answer: Answer) -> None:
    left, right = st.columns(2)
    left.metric("Your prediction", answer.guessed)
    right.metric("Measured", answer.measured)
    st.caption(plain(answer.words))

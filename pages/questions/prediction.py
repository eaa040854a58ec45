"""Predict, then measure: a question, a guess, and beside it what the model at hand answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from pages.classroom import class_question
from pages.controls import query_params
from pages.questions.number_slider import drag, said_key
from pages.selection import selection
from pages.stores import lessons, session
from pages.stores.lessons import Answer
from vitviz.lessons.lesson import Question
from vitviz.lessons.question_kinds import Choose, Drag, Kind, Measured
from vitviz.pin import Pin
from vitviz.text import plain

if TYPE_CHECKING:
    from pages.selection.subject import Subject

Keep = Callable[[Answer | None], None]


def draw(
    question: Question,
    key: str,
    answer: Answer | None,
    keep: Keep,
    at: Subject | None = None,
    no_guess: Pin | None = None,
) -> None:
    """The question with its form, or with the guess and the measured answer.

    Args:
        key: of its widgets.
        answer: what was predicted and measured before; None while it is open.
        keep: takes the answer, or None where the visitor guesses again; called while the page runs.
        at: the model, step and picture that are asked; the sidebar's where none is given.
        no_guess: the pin that nobody has set as yet, where a patch is asked for.
    """
    st.markdown(f":material/quiz: {plain(question.prompt)}")
    if answer is not None:
        st.session_state.pop(said_key(f"{key}.guess"), None)
        _measured(answer)
        if st.button("Guess again", key=f"{key}.again", type="tertiary"):
            keep(None)
            st.rerun()
        return
    at = at_hand() if at is None else at
    if why := question.measure.why_not(at):
        st.caption(f"This model has no answer to it. {plain(why)}")
        return
    kind = question.measure.kind(at)
    guess = _guess(kind, key, no_guess)
    if (
        st.button("Measure it", key=f"{key}.measure", disabled=guess is None, width="stretch")
        and guess is not None
    ):
        with st.spinner("Measuring …"):
            found = question.measure.measured(at)
        keep(_answer(question, kind, guess, found, at))
        for name, value in question.proof:
            query_params.want(name, value)
        st.rerun()  # all of the page: it shows the proof
    class_question.offer(question, at, key)


def ask(question: Question, key: str, at: Subject | None = None) -> None:
    """A page's own question; its answer is kept with the visit as long as model, step and picture stay.

    Args:
        key: of the question, such as 'block.longer'.
        at: the model, step and picture that are asked; the sidebar's where none is given.
    """
    at = at_hand() if at is None else at
    asked = lessons.asked(session.current())
    answer = asked.get(key)

    def keep(new: Answer | None) -> None:
        if new is None:
            asked.pop(key, None)
        else:
            asked[key] = new

    draw(question, key, answer if answer is not None and answer.where == _where(at) else None, keep, at)


def at_hand() -> Subject:
    """The sidebar's model, step and picture; what it takes to run a model is imported only where one is asked."""
    from pages.selection import subject

    return subject.current()


def _guess(kind: Kind, key: str, no_guess: Pin | None) -> float | None:
    """The guess as its form stands; None before there is one."""
    if isinstance(kind, Choose):
        options = list(range(len(kind.options)))
        return st.radio(
            "Your guess",
            options,
            index=None,
            key=f"{key}.guess",
            format_func=lambda i: plain(kind.options[i]),
            label_visibility="collapsed",
        )
    if isinstance(kind, Drag):
        return drag(kind, f"{key}.guess", "Your guess")
    place = selection.current().pin
    if place.place is None or place == no_guess:
        st.caption("Click a patch of the picture: the pin is your guess.")
        return None
    cell = place.cell(kind.grid)
    st.caption(f"Your guess is the pinned patch, {kind.said(cell)}. A click on another one moves it.")
    return float(cell)


def _answer(question: Question, kind: Kind, guess: float, found: Measured, at: Subject) -> Answer:
    return Answer(
        guess,
        question.prompt,
        kind.said(guess),
        found.said(kind),
        f"{kind.verdict(guess, found)} {found.words}",
        _where(at),
    )


def _where(at: Subject) -> str:
    picture = "own picture" if at.image.startswith("upload:") else at.image
    return f"{at.choice.title}, step {at.step:,}, {picture}"


def _measured(answer: Answer) -> None:
    left, right = st.columns(2)
    left.metric("You said", answer.guessed)
    right.metric("Measured", answer.measured)
    st.caption(plain(answer.words))

"""Ask for a prediction before a page shows its answer; the prediction is a query parameter.

It is for pages whose figure is the answer; `prediction` asks beside a figure that does not reveal it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from pages.classroom import class_question, membership
from pages.controls import query_params, session_keys, widgets
from pages.frame import page
from pages.questions import prediction
from pages.stores import lessons, session
from pages.stores.lessons import Answer
from vitviz.lessons.lesson import Question
from vitviz.lessons.question_kinds import Choose, MeasuredAnswer
from vitviz.text import as_it_is

SKIPPED = "shown"  # no prediction


@dataclass(frozen=True)
class Prediction:
    """A multiple-choice question before an answer is shown, and the verdict on each option.

    Attributes:
        key: the control's key in the session and in the link.
        about: identifies the question; another one is open again.
        prompt: the question, in Markdown.
        options: label of each option.
        judge: returns the verdict on an option, from the measurement.
        measured: the measured answer for the list of answers; by default the verdict.
        question: the question that a teacher may ask the class.
    """

    key: str
    about: Hashable
    prompt: str
    options: Mapping[str, str]
    judge: Callable[[str], str]
    measured: Callable[[], str] | None = None
    question: Question | None = None

    def is_answered(self) -> bool:
        """Ask until it is answered, then draw the verdict; return True once the answer may be shown."""
        if self.question is not None and class_question.is_hidden(self.question.measure):
            class_question.draw_hidden_notice()
            return False
        guess = read_prediction(self.key, self.about, list(self.options))
        if not guess:
            draw_question(self.key, self.prompt, self.options)
            member = membership.get_membership()
            if self.question is not None and member is not None and member.leads:
                class_question.draw_ask_button(self.question, prediction.load_subject(), self.key)
            return False
        if guess in self.options:
            verdict = self.judge(guess)
            page.markdown(verdict)
            measured = verdict if self.measured is None else self.measured()
            store_answer(f"{self.key} {self.about}", self.prompt, self.options[guess], measured)
        return True


def ask_highest(
    key: str,
    about: Hashable,
    prompt: str,
    values: Mapping[str, float],
    format_value: Callable[[float], str],
    titles: Mapping[str, str] | None = None,
) -> Prediction:
    """Return the question for the option with the highest value; `titles` by option, by default its name."""
    labels = {name: name if titles is None else titles[name] for name in values}
    best = max(values, key=values.__getitem__)

    def judge(guess: str) -> str:
        predicted = f"Your prediction: {labels[guess]}, {format_value(values[guess])}"
        if values[guess] == values[best]:
            return f"{predicted}: right."
        return f"{predicted}. Measured best: {labels[best]}, {format_value(values[best])}."

    return Prediction(key, about, prompt, labels, judge)


def require_prediction(
    key: str, question: Hashable, prompt: str, options: Mapping[str, str], judge: Callable[[str], str]
) -> bool:
    """Ask a `Prediction` until it is answered; return True once the answer may be shown."""
    return Prediction(key, question, prompt, options, judge).is_answered()


def create_prediction(key: str, question: Question) -> Prediction | None:
    """Return the prediction that a multiple-choice question about stored results asks for; None if they are missing.

    A teacher can ask the class the same question.

    Raises:
        TypeError: if the question is not multiple choice.
    """
    at: Any = None  # stored results do not depend on the selected model
    if question.measure.why_not(at):
        return None
    kind = question.measure.get_answer_kind(at)
    if not isinstance(kind, Choose):
        raise TypeError(f"Expected a multiple-choice question, received {type(kind).__name__}")
    return create_choice(key, question.prompt, kind, partial(question.measure.measure_answer, at), question)


def require_choice(key: str, prompt: str, kind: Choose, answer: Callable[[], MeasuredAnswer]) -> bool:
    """Ask with plain-text options; return True once the answer may be shown."""
    return create_choice(key, prompt, kind, answer).is_answered()


def create_choice(
    key: str,
    prompt: str,
    kind: Choose,
    answer: Callable[[], MeasuredAnswer],
    question: Question | None = None,
) -> Prediction:
    """Return a prediction with plain-text options, numbered from 0; `answer` measures once the user has predicted."""

    def judge(guess: str) -> str:
        measured = answer()
        return as_it_is(f"{kind.describe_verdict(float(guess), measured)} {measured.words}")

    options = {str(place): as_it_is(option) for place, option in enumerate(kind.options)}
    return Prediction(
        key=key,
        about=prompt,
        prompt=as_it_is(prompt),
        options=options,
        judge=judge,
        measured=lambda: answer().format_answer(kind),
        question=question,
    )


def read_prediction(key: str, question: Hashable, options: Sequence[str]) -> str:
    """Return the predicted option, `SKIPPED`, or '' while the question is open.

    Args:
        key: the control's key in the session and in the link.
        question: identifies the question; another one is open again.
        options: the options.
    """
    before = st.session_state.get(f"{key}.of")
    if before is not None and before != question:
        widgets.set_control(key, "")
    st.session_state[f"{key}.of"] = question
    widgets.resolve_option(key, ("", SKIPPED, *options))
    value: str = st.session_state[key]
    widgets.store_value(key, value) if value else query_params.remove_value(key)
    return value


def draw_question(key: str, prompt: str, labels: Mapping[str, str]) -> None:
    """Draw the open question in Markdown with its options."""
    labels = {**labels, SKIPPED: "Skip"}
    row = f"{key}.row"
    st.session_state[row] = None
    st.pills(
        f":material/quiz: {prompt}",
        list(labels),
        key=row,
        format_func=lambda option: labels[option],
        on_change=_store_clicked,
        args=(key, row),
    )


def _store_clicked(key: str, row: str) -> None:
    option = st.session_state[row]
    if option is not None:
        widgets.set_control(key, option)


def store_answer(key: str, prompt: str, guessed: str, measured: str) -> None:
    """Store the answer among the session's answers, in place of an earlier one."""
    slug = st.session_state.get(session_keys.PAGE)
    lessons.get_answers(session.get_current())[f"{slug}.{key}"] = Answer(
        0.0, prompt, guessed, measured, measured, ""
    )


def draw_retry_button(key: str) -> None:
    """Draw a button that reopens the question."""
    st.button(
        "Predict again", key=f"{key}.again", type="tertiary", on_click=widgets.set_control, args=(key, "")
    )

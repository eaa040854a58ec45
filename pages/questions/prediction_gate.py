"""Ask for a prediction before a page shows its answer; the prediction is a query parameter.

It is for pages whose figure is the answer; `prediction` asks beside a figure that does not reveal it.
"""

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.frame import page
from pages.frame.slots import Slots
from pages.questions.answer_input import (
    draw_hidden_notice,
    draw_input,
    draw_options,
    draw_prompt,
    explain_missing,
    read_input,
)
from pages.stores import lessons, session
from pages.stores.lessons import StoredAnswer
from vitviz.lessons.lesson import Question
from vitviz.lessons.question_kinds import Answer, AnswerKind, Choose, MeasuredAnswer
from vitviz.text import as_it_is

SKIPPED = "shown"  # no prediction


@dataclass(frozen=True)
class Prediction:
    """A question before an answer is shown, and the verdict on each prediction.

    Attributes:
        key: the control's key in the session and in the link.
        about: identifies the question; another one is open again.
        prompt: the question.
        kind: of its answer.
        judge: returns the verdict on a prediction, from the measurement, as Markdown.
        right: returns the correct answers; by default they are unknown.
        question: the question that a teacher may ask the class.
        write: makes Markdown of the prompt and the options; by default they are Markdown.
    """

    key: str
    about: Hashable
    prompt: str
    kind: AnswerKind
    judge: Callable[[Answer], str]
    right: Callable[[], Collection[Answer]] = tuple
    question: Question | None = None
    write: Callable[[str], str] = str

    def is_answered(self) -> bool:
        """Ask until it is answered, then draw the verdict; return True once the answer may be shown."""
        if self.question is not None:
            if Slots.is_hidden(self.question.measure):
                draw_hidden_notice()
                return False
            Slots.offer_question(self.question, None)
        text = read_prediction(self.key, self.about, self.kind)
        if not text:
            draw_question(self.key, self.prompt, self.kind, self.write)
            return False
        guess = self.kind.decode(text)
        if guess is not None:
            verdict, right = self.store_verdict(guess)
            draw_verdict(self.key, self.prompt, self.kind, text, verdict, right=right, write=self.write)
        return True

    def store_verdict(self, guess: Answer) -> tuple[str, Collection[Answer]]:
        """Store the prediction among the session's answers; return its verdict and the correct answers."""
        verdict, right = self.judge(guess), self.right()
        guessed, prompt = self.write(self.kind.format_answer(guess)), self.write(self.prompt)
        store_answer(f"{self.key} {self.about}", prompt, guessed, verdict, guess, right)
        return verdict, right

    def draw_on_card(self, key: str) -> None:
        """Draw a multiple-choice question with a widget of its own; a click on an option stores the verdict."""

        def store_prediction() -> None:
            guess = read_input(self.kind, key)
            if guess is not None:
                self.store_verdict(guess)

        if self.question is not None and Slots.is_hidden(self.question.measure):
            draw_hidden_notice()
        else:
            draw_input(self.kind, key, self.prompt, self.write, on_change=store_prediction)


def ask_options(
    key: str,
    about: Hashable,
    prompt: str,
    options: Mapping[str, str],
    judge: Callable[[str], str],
    right: Callable[[], Collection[Answer]] = tuple,
) -> Prediction:
    """Return a multiple-choice question in Markdown; `options` and `judge` take the option's name in the link."""
    names = tuple(options)
    kind = Choose(tuple(options.values()), names)
    return Prediction(key, about, prompt, kind, lambda guess: judge(names[int(guess)]), right)


def ask_highest(
    key: str,
    about: Hashable,
    prompt: str,
    values: Mapping[str, float],
    format_value: Callable[[float], str],
    titles: Mapping[str, str] | None = None,
    leaders: Collection[str] = (),
) -> Prediction | None:
    """Return the question for the option with the highest value; None unless there are two.

    Options whose values look alike as they are written are all right.

    Args:
        titles: by option, by default its name.
        leaders: options that are not shown to be lower than the highest, of measurements over images; all are right.
    """
    if len(values) < 2:
        return None
    labels = {name: name if titles is None else titles[name] for name in values}
    shown = {name: format_value(value) for name, value in values.items()}
    best = max(values, key=values.__getitem__)
    right = [place for place, name in enumerate(values) if shown[name] == shown[best] or name in leaders]

    def judge(guess: str) -> str:
        predicted = f"Your prediction: {labels[guess]}, {shown[guess]}"
        if shown[guess] == shown[best]:
            return f"{predicted}: right."
        level = " No difference between the two is shown: right." if guess in leaders else ""
        return f"{predicted}. Measured: {labels[best]}, {shown[best]}.{level}"

    return ask_options(key, about, prompt, labels, judge, lambda: right)


def create_prediction(key: str, question: Question) -> Prediction | None:
    """Return the prediction that a question about stored results asks for; None if they are missing.

    A teacher can ask the class the same question.
    """
    at: Any = None  # stored results do not depend on the selected model
    if question.measure.why_not(at):
        return None
    kind, measure = question.measure.get_answer_kind(at), question.measure
    return create_choice(key, question.prompt, kind, lambda: measure.measure_answer(at), question)


def create_choice(
    key: str,
    prompt: str,
    kind: AnswerKind,
    answer: Callable[[], MeasuredAnswer],
    question: Question | None = None,
) -> Prediction:
    """Return a prediction in plain text; `answer` measures once the user has predicted."""

    def judge(guess: Answer) -> str:
        measured = answer()
        return as_it_is(f"{kind.describe_verdict(guess, measured)} {measured.words}")

    return Prediction(
        key, prompt, prompt, kind, judge, right=lambda: answer().right, question=question, write=as_it_is
    )


def read_prediction(key: str, question: Hashable, kind: AnswerKind) -> str:
    """Return the prediction as in a link, `SKIPPED`, or '' while the question is open.

    Args:
        key: the control's key in the session and in the link.
        question: identifies the question; another one is open again.
        kind: of the answer.
    """
    before = st.session_state.get(f"{key}.of")
    if before is not None and before != question:
        widgets.set_control(key, "")
    st.session_state[f"{key}.of"] = question
    widgets.resolve_text(key, lambda text: text in ("", SKIPPED) or kind.decode(text) is not None)
    text: str = st.session_state[key]
    widgets.store_value(key, text) if text else query_params.remove_value(key)
    return text


def draw_question(key: str, prompt: str, kind: AnswerKind, write: Callable[[str], str] = str) -> None:
    """Draw the open question; a click on an option predicts it, other answers have a button."""
    row = f"{key}.row"

    def store_prediction() -> None:
        guess = st.session_state[row] if isinstance(kind, Choose) else read_input(kind, row)
        if guess is not None:
            widgets.set_control(key, guess if isinstance(kind, Choose) else kind.encode(kind.validate(guess)))

    if isinstance(kind, Choose):
        st.session_state[row] = None
        draw_input(kind, row, prompt, write, more={SKIPPED: "Skip"}, on_change=store_prediction)
        return
    guess = draw_input(kind, row, prompt, write)
    with st.container(horizontal=True):
        widgets.button(
            "Predict",
            key=f"{key}.predict",
            why_not=explain_missing(kind, guess),
            on_click=store_prediction,
        )
        st.button(
            "Skip", key=f"{key}.skip", type="tertiary", on_click=widgets.set_control, args=(key, SKIPPED)
        )


def draw_verdict(
    key: str,
    prompt: str,
    kind: AnswerKind,
    text: str,
    verdict: str,
    right: Collection[Answer] = (),
    write: Callable[[str], str] = str,
) -> None:
    """Draw the verdict on a prediction, as in a link, beside the question's options, of which it is one."""
    guess = kind.decode(text)
    if not isinstance(kind, Choose) or guess is None:
        page.markdown(verdict)
        return
    with st.container(gap=None):
        draw_prompt(write(prompt))
        with st.container(horizontal=True, vertical_alignment="center"):
            draw_options(kind, f"{key}.answer", write, more={SKIPPED: "Skip"}, guess=guess, right=right)
            page.markdown(verdict)


def store_answer(
    key: str, prompt: str, guessed: str, measured: str, guess: Answer, right: Collection[Answer]
) -> None:
    """Store the answer among the session's answers, in place of an earlier one."""
    slug = st.session_state.get(session_keys.PAGE)
    answers, name = lessons.get_answers(session.get_current()), f"{slug}.{key}"
    answers.pop(name, None)  # the newest is the last
    answers[name] = StoredAnswer(guess, prompt, guessed, measured, measured, "", right=tuple(right))


def draw_retry_button(key: str) -> None:
    st.button(
        "Predict again", key=f"{key}.again", type="tertiary", on_click=widgets.set_control, args=(key, "")
    )

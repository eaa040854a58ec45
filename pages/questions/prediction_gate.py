"""A guess before the answer: one question above a picture, its options in a row; what is guessed stands in the link.

For a page whose picture itself is the answer; a question beside a picture that does not give it away is `asking`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial

import streamlit as st

from pages.classroom import class_question
from pages.controls import query_params, session_keys, widgets
from pages.frame import page
from pages.questions import prediction
from pages.stores import lessons, session
from pages.stores.lessons import Answer
from vitviz.lessons.lesson import Question
from vitviz.lessons.question_kinds import Choose, Measured
from vitviz.text import as_it_is

SHOWN = "shown"  # no guess: only the answer


def first(
    key: str, question: Hashable, prompt: str, options: Mapping[str, str], judge: Callable[[str], str]
) -> bool:
    """Asks before an answer is shown, and once there is a guess says what came of it; whether it may be shown.

    Args:
        key: of the control, in the session and in the link.
        question: what is asked about; another one is open again.
        prompt: the question, in Markdown.
        options: that can be guessed, and what they are called.
        judge: of an option, the sentence that says whether it was right, from what was computed.
    """
    guess = read(key, question, list(options))
    if not guess:
        ask(key, prompt, options)
        return False
    if guess in options:
        verdict = judge(guess)
        page.say(verdict)
        keep(f"{key} {question}", prompt, options[guess], verdict)
    return True


def measured(key: str, question: Question) -> bool:
    """`first` for a question that lessons ask too: its options, and what was measured; a teacher can ask the class it.

    Whether the answer may be shown; it may where the question cannot be answered.

    Raises:
        TypeError: if the question asks for anything but one of a few options.
    """
    at = prediction.at_hand()
    if question.measure.why_not(at):
        return True
    kind = question.measure.kind(at)
    if not isinstance(kind, Choose):
        raise TypeError(f"a guess above a picture is one of a few options, received {type(kind).__name__}")

    answered = chosen(key, question.prompt, kind, partial(question.measure.measured, at))
    if not answered:
        class_question.offer(question, at, key)
    return answered


def chosen(key: str, prompt: str, kind: Choose, answer: Callable[[], Measured]) -> bool:
    """`first` for words as they are, not Markdown; `answer` computes which option is right.

    Another prompt is another question.
    """
    options = {str(place): as_it_is(option) for place, option in enumerate(kind.options)}
    guess = read(key, prompt, list(options))
    if not guess:
        ask(key, as_it_is(prompt), options)
        return False
    if guess in options:
        found = answer()
        page.say(as_it_is(f"{kind.verdict(float(guess), found)} {found.words}"))
        keep(f"{key} {prompt}", prompt, kind.said(float(guess)), found.said(kind))
    return True


def read(key: str, question: Hashable, options: Sequence[str]) -> str:
    """The guess as it stands, `SHOWN` for none, '' while the question is open; another question opens it again.

    Args:
        key: of the control, in the session and in the link.
        question: what is asked about.
        options: that can be guessed.
    """
    before = st.session_state.get(f"{key}.of")
    if before is not None and before != question:
        widgets.set_value(key, "")
    st.session_state[f"{key}.of"] = question
    widgets.settle_choice(key, ("", SHOWN, *options))
    value: str = st.session_state[key]
    widgets.keep(key, value) if value else query_params.drop(key)
    return value


def ask(key: str, prompt: str, named: Mapping[str, str]) -> None:
    """The open question in Markdown, and what its options are called."""
    words = {**named, SHOWN: "Just show me"}
    row = f"{key}.row"
    st.session_state[row] = None
    st.pills(
        f":material/quiz: {prompt}",
        list(words),
        key=row,
        format_func=lambda option: words[option],
        on_change=_take,
        args=(key, row),
    )


def _take(key: str, row: str) -> None:
    said = st.session_state[row]
    if said is not None:
        widgets.set_value(key, said)


def keep(key: str, prompt: str, guessed: str, measured: str) -> None:
    """Puts what this page asked among the visit's answers; another answer to the same question takes its place."""
    slug = st.session_state.get(session_keys.PAGE)
    lessons.asked(session.current())[f"{slug}.{key}"] = Answer(0.0, prompt, guessed, measured, measured, "")


def again(key: str) -> None:
    """A button that opens the question again."""
    st.button("Guess again", key=f"{key}.again", type="tertiary", on_click=widgets.set_value, args=(key, ""))

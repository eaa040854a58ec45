"""A question to the class: asked from where a lesson or a page asks it, answered and looked at on every page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.classroom import membership
from pages.classroom.answer_points import class_points
from pages.classroom.membership import Place
from pages.controls import query_params, session_keys
from pages.frame import registry
from pages.questions.number_slider import drag, said_key
from pages.selection import selection
from pages.stores import cached, classes, session
from vitviz.classes import questions
from vitviz.classes.database import ClassError
from vitviz.classes.question import Asked, Bar, bars, checked, summary
from vitviz.classes.questions import Question
from vitviz.classes.shared_view import is_private
from vitviz.lessons.lesson import Link
from vitviz.lessons.question_kinds import Choose, Drag, Point
from vitviz.text import plain, plural

if TYPE_CHECKING:
    from pages.selection.subject import Subject
    from vitviz.lessons import lesson
    from vitviz.plots.photo import Photo

KEY = "class_asked"
# (number of the question, the patch that was pointed at), of one question at a time.
_POINTED = "class.pointed"
# Drawn with the bar's: a style sheet that a poll brings takes the place of one that the page has drawn.
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


# ---------------------------------------------------------------- asking


def offer(question: lesson.Question, at: Subject, key: str) -> None:
    """The teacher's button beside a question; of no class, and for learners, there is none."""
    place = membership.current()
    if place is None or not place.leads:
        return
    why_not = _why_not(place, at)
    st.button(
        "Ask the class",
        key=f"{key}.class",
        icon=":material/record_voice_over:",
        width="stretch",
        disabled=bool(why_not),
        help=why_not or "Everybody in the class can answer; the answers stay hidden until you show them.",
        on_click=_ask,
        args=(question, at),
    )


def _why_not(place: Place, at: Subject) -> str:
    if is_private(at.image) and at.image not in place.pictures:
        return "Show your picture to the class first."
    return "The class does not see weights of your own." if is_private(at.choice.key) else ""


def _ask(question: lesson.Question, at: Subject) -> None:
    place = membership.current()
    if place is None:
        return
    try:
        asked = Asked(
            prompt=question.prompt,
            kind=question.measure.kind(at),
            measure=question.measure,
            about=f"{at.choice.title}, step {at.step:,}, {cached.picture_title(at.image)}",
            model=at.choice.key,
            step=at.step,
            image=place.pictures.get(at.image, at.image),
            crop=at.offset[0],
            proof=Link(st.session_state.get(session_keys.PAGE) or "home", question.proof),
        )
        questions.ask(membership.store(), place.code, asked)
    except (ClassError, ValueError) as error:
        st.toast(f"The class is not asked: {plain(str(error))}.", icon=":material/info:")


# ---------------------------------------------------------------- on every page


def panel(place: Place) -> None:
    """The class's question, where it has one; drawn at every poll.

    Raises:
        ClassError: if the file of classes cannot be used.
    """
    question = questions.now(membership.store(), place.code)
    if question is None:
        return
    with st.container(key=KEY):
        st.markdown(f":material/quiz: **{plain(question.asked.prompt)}**")
        st.caption(plain(question.asked.about))
        own = _own(place, question)
        if question.stage == "open" and own is None:
            who = "The class is asked: its answers come in" if place.leads else "Your teacher asks a question"
            kind = "class-new class-asked" if place.leads else "class-new"
            # For a moment at the foot of the screen: whoever has scrolled down does not see what is above. Where
            # nothing may move it stays until there is an answer, and a teacher sees none.
            st.html(f'<div class="{kind}" role="status">{who} at the top of the page.</div>')
        if question.stage != "measured" and own is None and not place.leads:
            _form(place, question)
        else:
            _standing(place, question, own)
        if place.leads:
            _steer(place, question)


def _own(place: Place, question: Question) -> float | None:
    """The visitor's answer as this session remembers it; NaN where it is known only that there is one."""
    if place.leads or question.number in place.answers:
        return place.answers.get(question.number)
    if question.stage != "measured" and questions.has_answered(
        membership.store(), place.code, question.number, session.current().token
    ):
        place.answers[question.number] = float("nan")
        return place.answers[question.number]
    return None


def _form(place: Place, question: Question) -> None:
    guess = _guess(question)
    st.button(
        "Answer",
        key=f"class.answer.{question.number}",
        disabled=guess is None,
        on_click=_answer,
        args=(place, question, guess),
    )


def _answer(place: Place, question: Question, guess: float) -> None:
    try:
        guess = checked(question.asked.kind, guess)
        fresh = questions.answer(
            membership.store(), place.code, question.number, session.current().token, guess
        )
    except (ClassError, ValueError) as error:
        st.toast(f"It is not counted: {plain(str(error))}.", icon=":material/info:")
        return
    place.answers[question.number] = guess if fresh else float("nan")
    st.session_state.pop(said_key(_guess_key(question)), None)


def _guess_key(question: Question) -> str:
    return f"class.guess.{question.number}"


def _guess(question: Question) -> float | None:
    kind, key = question.asked.kind, _guess_key(question)
    if isinstance(kind, Choose):
        options = list(range(len(kind.options)))
        picked = st.radio(
            "Your answer",
            options,
            index=None,
            key=key,
            format_func=lambda i: plain(kind.options[i]),
            label_visibility="collapsed",
        )
        return None if picked is None else float(picked)
    if isinstance(kind, Drag):
        return drag(kind, key, "Your answer")
    number, told = st.session_state.get(_POINTED, (None, None))
    told = told if number == question.number else None
    cell = class_points(
        kind.grid,
        _ground(question.asked),
        (),
        own=told,
        measured=None,
        words="The picture of the question: point at one patch",
        takes=True,
        key=key,
    )
    if cell is not None and cell != told:
        st.session_state[_POINTED] = (question.number, cell)
        context = get_script_run_ctx()
        alone = context is not None and context.fragment_ids_this_run
        st.rerun(scope="fragment" if alone else "app")
    st.caption("Point at one patch." if told is None else f"Your answer is {kind.said(told)}.")
    return None if told is None else float(told)


def _ground(asked: Asked) -> Photo | None:
    """What the model sees of the picture; None where this visit has not that model or picture."""
    choice = selection.models().get(asked.model)
    if choice is None:
        return None
    try:
        place = membership.current()
        if place is not None:
            classes.bring(place.code, asked.image)
        return cached.photo(asked.image, choice.preparation, (asked.crop, asked.crop), True)
    except (KeyError, ClassError):
        return None


# ---------------------------------------------------------------- what came


def _standing(place: Place, question: Question, own: float | None) -> None:
    """How it stands: how many have answered, or what, and at the end what was measured."""
    kind = question.asked.kind
    if own is not None and own == own:
        st.markdown(f"Your answer: **{plain(kind.said(own))}**")
    if question.stage == "open":
        count = f"{plural(question.answers, 'answer')} so far; hidden until you show them."
        st.caption(count if place.leads else "The answers are hidden until your teacher shows them.")
        return
    found = question.found
    if isinstance(kind, Point):
        _pointed(question, kind, own)
    else:
        shown = bars(kind, question.tally, found, own)
        st.html(_histogram(shown, question.answers))
    if found is None:
        st.caption(f"{plural(question.answers, 'answer')} so far.")
        return
    st.markdown(f"Measured: **{plain(found.said(kind))}**. {plain(found.words)}")
    st.caption(plain(summary(kind, question.tally, found)))


def _pointed(question: Question, kind: Point, own: float | None) -> None:
    found = None if question.found is None else int(question.found.value)
    most = sorted(question.tally.items(), key=lambda item: -item[1])[:5]
    words = "; ".join(f"{kind.said(cell)}: {count}" for cell, count in most) or "no answer"
    cells = kind.grid[0] * kind.grid[1]
    class_points(
        kind.grid,
        _ground(question.asked),
        [question.tally.get(float(cell), 0) for cell in range(cells)],
        own=None if own is None or own != own else int(own),
        measured=found,
        words=f"Where the class points: {words}",
        takes=False,
        key=f"class.points.{question.number}",
    )


def _histogram(shown: list[Bar], answers: int) -> str:
    most = max([bar.count for bar in shown] or [1]) or 1
    rows = []
    for bar in shown:
        marks = [word for word, is_so in (("measured", bar.measured), ("yours", bar.own)) if is_so]
        name = escape(bar.label) + (f" ({', '.join(marks)})" if marks else "")
        found = ' class="found"' if bar.measured else ""
        rows.append(
            f'<span{found}>{name}</span><i style="width: {100 * bar.count / most:.1f}%"></i><b>{bar.count}</b>'
        )
    words = escape(f"{plural(answers, 'answer')}: " + ", ".join(f"{bar.label}: {bar.count}" for bar in shown))
    return f'<div class="class-bars" role="img" aria-label="{words}">{"".join(rows)}</div>'


# ---------------------------------------------------------------- the teacher


def _steer(place: Place, question: Question) -> None:
    with st.container(horizontal=True):
        if question.stage == "open":
            st.button("Show the answers", key="class.show_answers", on_click=_show, args=(place, question))
        if question.stage != "measured" and st.button("Show what is measured", key="class.measure"):
            _measure(place, question)
        st.button("End the question", key="class.end", type="tertiary", on_click=_end, args=(place,))


def _show(place: Place, question: Question) -> None:
    try:
        questions.show_answers(membership.store(), place.code, question.number)
    except ClassError as error:
        st.toast(f"They are not shown: {plain(str(error))}.", icon=":material/info:")


def _end(place: Place) -> None:
    try:
        questions.end(membership.store(), place.code)
    except ClassError as error:
        st.toast(f"It is not ended: {plain(str(error))}.", icon=":material/info:")


def _measure(place: Place, question: Question) -> None:
    """Runs the model that was asked about, and shows what it gives and the page's proof of it."""
    from pages.selection import subject

    asked = question.asked
    choice = selection.models().get(asked.model)
    if choice is None:
        st.warning("The model of this question is gone.", icon=":material/info:")
        return
    classes.bring(place.code, asked.image)
    try:
        with st.spinner("Measuring …"):
            at = subject.of(choice, asked.step, asked.image, (asked.crop, asked.crop))
            questions.measured(membership.store(), place.code, question.number, asked.measure.measured(at))
    except KeyError:
        st.warning("The picture of this question is gone.", icon=":material/info:")
        return
    if asked.proof.slug == st.session_state.get(session_keys.PAGE) and asked.proof.slug in registry.BY_SLUG:
        for name, value in asked.proof.query:
            query_params.want(name, value)
    st.rerun()

"""Ask the class a question, collect its answers, and draw the question on every page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from pages.classroom import membership
from pages.classroom.membership import Membership
from pages.controls import query_params, session_keys, widgets
from pages.controls.notices import toast_errors
from pages.controls.widgets import encode_value
from pages.questions import question_form
from pages.questions.answer_input import draw_input, draw_points, explain_missing, read_input
from pages.selection import selection
from pages.stores import classes, registry, session, shared_cache
from vitviz.classes import question_store
from vitviz.classes.class_question import ClassQuestion, HistogramBar, build_histogram, describe_answers
from vitviz.classes.database import ClassError
from vitviz.classes.question_store import QuestionState
from vitviz.classes.shared_view import SharedView, is_private
from vitviz.lessons.authored_questions import AuthoredMeasure
from vitviz.lessons.lesson import Link, Question
from vitviz.lessons.question_kinds import Answer, Measure, Point, Write
from vitviz.text import plain, plural

if TYPE_CHECKING:
    from pages.selection.subject import Subject
    from vitviz.plots.photo import Photo

KEY = "class_asked"
ASK = "Ask the class"
_OFFERED = "class.offered"  # the page's own questions, those of a lesson's stop first
_OWN = "class.own"  # key of the form of the teacher's own question
_UNKNOWN_ANSWER = ""  # the answer of a session that answered, but does not know what
# Drawn with the class bar: a style sheet in a polled fragment would replace one that the page has drawn.
STYLE = Path(__file__).with_suffix(".css").read_text("utf-8")


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


def hide_proof(question: ClassQuestion, view: SharedView | None, slug: str) -> None:
    """Replace a question's proof on its page by the values that the teacher shows, or showed when asking.

    A control without a value counts as the proof, because the page's default may be the proof.
    """
    stored, incoming = session_keys.get_control_values(), session_keys.get_dict(session_keys.INCOMING)
    shared = view.link.values if view is not None and view.slug == slug else {}
    for key, proof in question.proof.query if slug == question.proof.slug else ():
        linked = incoming.get(key, encode_value(stored[key]) if key in stored else proof)
        if "." not in key or linked != proof:  # the selection is part of the question
            continue
        incoming.pop(key, None)
        stored.pop(key, None)
        st.session_state.pop(key, None)
        others = (text for text in (shared.get(key), question.before.get(key)) if text not in (None, proof))
        if other := next(others, None):
            incoming[key] = other


def is_hidden(measure: Measure) -> bool:
    """Return True if the class is asked a question of this measure, and the teacher has not shown the answer."""
    pending = load_pending()
    if pending is None or isinstance(measure, AuthoredMeasure):
        return pending is not None and pending.question.measure == measure
    return type(pending.question.measure) is type(measure)


# ---------------------------------------------------------------- asking


def forget_offers() -> None:
    st.session_state[_OFFERED] = []


def offer_question(question: Question, subject: Subject | None, *, first: bool = False) -> None:
    """Let the teacher ask the class a question of this page; nothing for learners and outside of a class.

    Args:
        subject: the model, step and image to measure; by default the sidebar's.
        first: True for the question of a lesson's stop, which one click asks.
    """
    member = membership.get_membership()
    if member is None or not member.leads:
        return
    offers: list[tuple[Question, Subject | None]] = st.session_state.setdefault(_OFFERED, [])
    offers[:] = [offer for offer in offers if offer[0] != question]
    offers.insert(0 if first else len(offers), (question, subject))


@st.fragment(key="class.ask")
def draw_ask_controls() -> None:
    """Draw the teacher's button that asks the page's first question, and the menu of further and own questions."""
    member = membership.get_membership()
    if member is None:
        return
    offers: list[tuple[Question, Subject | None]] = st.session_state.get(_OFFERED, [])
    with st.container(horizontal=True, gap="xsmall", width="content"):
        if offers:
            _draw_ask_button(member, ASK, *offers[0], key="class.ask.first")
        with st.popover("More questions" if offers else ASK):
            for number, (question, subject) in enumerate(offers):
                _draw_ask_button(member, question.prompt, question, subject, key=f"class.ask.{number}")
            question_form.draw_form(_OWN, None)
            st.button("Ask this question", key="class.ask.own", type="primary", on_click=_ask_own)


def _draw_ask_button(
    member: Membership, label: str, question: Question, subject: Subject | None, key: str
) -> None:
    widgets.button(
        plain(label),
        key=key,
        icon=":material/record_voice_over:",
        why_not=_explain_private(member, subject),
        help=plain(question.prompt),
        on_click=_ask_class,
        args=(question, subject),
    )


def _explain_private(member: Membership, subject: Subject | None) -> str:
    """Return why the class cannot be asked about this subject, by default the selection; '' if it can."""
    current = selection.get_current()
    image, model = (current.image, current.model) if subject is None else (subject.image, subject.choice.key)
    if is_private(image) and image not in member.images:
        return "share your image with the class first"
    return "uploaded weights cannot be shared with the class" if is_private(model) else ""


def _ask_own() -> None:
    with toast_errors("The class was not asked"):
        question = question_form.read_form(_OWN, None)
        if question is not None:
            _ask_class(question, None)


def _ask_class(question: Question, subject: Subject | None) -> None:
    from pages.selection.subject import load_current

    member = membership.get_membership()
    if member is None:
        return
    with toast_errors("The class was not asked"):
        subject = load_current() if subject is None else subject
        if subject.choice.native is not None:
            raise ValueError("A class answers on the cropped image: turn off 'Whole image' first")
        shown = query_params.get_values()
        if why := question.measure.why_not(subject):
            raise ValueError(why)
        class_question = ClassQuestion(
            prompt=question.prompt,
            kind=question.measure.get_answer_kind(subject),
            measure=question.measure,
            about=selection.describe(subject.choice, subject.step, subject.image),
            model=subject.choice.key,
            step=subject.step,
            image=member.images.get(subject.image, subject.image),
            crop=subject.offset[0],
            proof=Link(st.session_state.get(session_keys.PAGE) or "home", question.proof),
            before={key: shown[key] for key, _ in question.proof if "." in key and key in shown},
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
        answer = _get_answer(member, state)
        asks = state.stage != "measured" and answer is None and not member.leads
        if not asks:
            st.markdown(f":material/quiz: **{plain(state.question.prompt)}**")
        if state.stage == "open" and answer is None:
            sentence = "Question sent." if member.leads else "New question from your teacher."
            st.html(f'<div class="class-new" role="status">{sentence}</div>')
        if asks:
            _draw_form(member, state)
        else:
            _draw_answers(member, state, answer)
        if not isinstance(state.question.measure, AuthoredMeasure):
            st.caption(plain(state.question.about))
        if member.leads:
            _draw_teacher_buttons(member, state)


def _get_answer(member: Membership, state: QuestionState) -> Answer | None:
    """Return the user's answer in this session; `_UNKNOWN_ANSWER` if the answer was given in another session."""
    if member.leads or state.number in member.answers:
        return member.answers.get(state.number)
    if state.stage != "measured" and question_store.has_answered(
        membership.get_class_store(), member.code, state.number, session.get_current().token
    ):
        return member.answers.setdefault(state.number, _UNKNOWN_ANSWER)  # another thread may have just set it
    return None


def _draw_form(member: Membership, state: QuestionState) -> None:
    question, key = state.question, f"class.guess.{state.number}"
    answer = draw_input(
        question.kind,
        key,
        question.prompt,
        load_photo=lambda: _encode_photo(question),
        on_page=_is_on_page(member, question),
    )
    widgets.button(
        "Submit answer",
        key=f"class.answer.{state.number}",
        why_not=explain_missing(question.kind, answer),
        on_click=_submit_answer,
        args=(member, state, key),
    )


def _submit_answer(member: Membership, state: QuestionState, key: str) -> None:
    """Count the answer in the form once: an interrupted run calls a click's callback again."""
    member = membership.get_membership() or member
    if state.number in member.answers:
        return
    with toast_errors("Your answer was not counted"):
        store, token = membership.get_class_store(), session.get_current().token
        answer = read_input(state.question.kind, key)
        if answer is None:
            if not question_store.has_answered(store, member.code, state.number, token):
                raise ValueError("expected an answer, received none")
            counted = False
        else:
            answer = state.question.kind.validate(answer)
            counted = question_store.submit_answer(store, member.code, state.number, token, answer)
        member.answers[state.number] = answer if counted and answer is not None else _UNKNOWN_ANSWER


def _is_on_page(member: Membership | None, question: ClassQuestion) -> bool:
    """Return True if the page shows the model, step and image of the question."""
    current = st.session_state.get(session_keys.SELECTION)
    if current is None:  # a learner's question is drawn before the page's selection is resolved
        return False
    image = current.image if member is None else member.images.get(current.image, current.image)
    shown = (current.model, current.step, image, current.offset[0])
    return shown == (question.model, question.step, question.image, question.crop)


def _encode_photo(question: ClassQuestion) -> Photo | None:
    """Return the question's image as the model sees it; None if this session lacks the model or the image."""
    choice = selection.list_models().get(question.model)
    if choice is None:
        return None
    try:
        member = membership.get_membership()
        if member is not None:
            classes.load_image(member.code, question.image)
        return shared_cache.encode_photo(
            question.image, choice.preparation, (question.crop, question.crop), True
        )
    except (KeyError, ClassError):
        return None


# ---------------------------------------------------------------- answers


def _draw_answers(member: Membership, state: QuestionState, answer: Answer | None) -> None:
    """Draw the answer count, the answers once they are shown, and the measured answer at the end."""
    kind, measured = state.question.kind, state.measured
    if answer not in (None, _UNKNOWN_ANSWER):
        st.markdown(f"Your answer: **{plain(kind.format_answer(answer))}**")
    if state.stage == "open":
        count = f"{plural(state.answers, 'answer')}, hidden until you show them."
        st.caption(count if member.leads else "Answers are hidden until your teacher shows them.")
        return
    if isinstance(kind, Write):
        _draw_texts(state)
    elif isinstance(kind, Point):
        _draw_chosen_patches(state, kind, answer)
    else:
        answered = None if answer == _UNKNOWN_ANSWER else answer
        right = "measured" if measured is None or measured.is_measured else "correct"
        bars = build_histogram(kind, state.tally, measured, answered)
        st.html(_format_histogram(bars, state.answers, right))
    if measured is None:
        st.caption(f"{plural(state.answers, 'answer')} so far.")
        return
    if measured.right:
        st.markdown(f"{measured.label}: **{plain(measured.format_answer(kind))}**. {plain(measured.words)}")
    elif measured.words:
        st.markdown(plain(measured.words))
    if not isinstance(kind, Write):
        st.caption(plain(describe_answers(kind, state.tally, measured)))


def _draw_texts(state: QuestionState) -> None:
    shown = sorted((text for text in state.written if text.shown), key=lambda text: -text.count)
    lines = [f"- {plain(text.text)}" + (f" ({text.count})" if text.count > 1 else "") for text in shown]
    st.markdown("\n".join(lines) or "No text is shown yet.")


def _draw_chosen_patches(state: QuestionState, kind: Point, answer: Answer | None) -> None:
    most_frequent = sorted(state.tally.items(), key=lambda pair: -pair[1])[:5]
    text = "; ".join(f"{kind.format_answer(cell)}: {count}" for cell, count in most_frequent) or "no answer"
    draw_points(
        _encode_photo(state.question),
        kind,
        [state.tally.get(float(cell), 0) for cell in range(kind.grid[0] * kind.grid[1])],
        guess=int(answer) if isinstance(answer, float) else None,
        measured=int(state.measured.right[0])
        if state.measured is not None and state.measured.right
        else None,
        label=f"Answers of the class: {text}",
        key=f"class.points.{state.number}",
        on_page=_is_on_page(membership.get_membership(), state.question),
    )


def _format_histogram(histogram: list[HistogramBar], answers: int, right: str) -> str:
    most = max([bar.count for bar in histogram] or [1]) or 1
    rows = []
    for bar in histogram:
        marks = [mark for mark, applies in ((right, bar.measured), ("yours", bar.own)) if applies]
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
    authored = isinstance(state.question.measure, AuthoredMeasure)
    with st.container(horizontal=True):
        if isinstance(state.question.kind, Write):
            _draw_moderation(member, state)
        if state.stage == "open":
            show = ("The answers are still hidden", question_store.reveal_answers, member.code, state.number)
            st.button("Show answers", key="class.show_answers", on_click=_change, args=show)
        reveal = "Show the correct answer" if authored else "Measure and show"
        if state.stage != "measured" and st.button(reveal, key="class.measure"):
            _measure_answer(member, state)
        end = ("The question is still open", question_store.end_question, member.code)
        st.button("End question", key="class.end", type="tertiary", on_click=_change, args=end)


def _draw_moderation(member: Membership, state: QuestionState) -> None:
    hidden = sum(not text.shown for text in state.written)
    with st.popover(f"Review texts ({hidden} hidden)"):
        st.caption(
            "The class sees the selected texts. A projector shows this list, too: review on another device."
        )
        for text in state.written:
            st.checkbox(
                plain(text.text),
                text.shown,
                key=f"class.text.{state.number}.{text.text}",
                on_change=_change,
                args=(
                    "The text is unchanged",
                    question_store.show_text,
                    member.code,
                    state.number,
                    text.text,
                    not text.shown,
                ),
            )


def _change(consequence: str, change: Callable[..., object], *args: object) -> None:
    """Change the question in the store of classes; if that fails, show its consequence in a toast."""
    with toast_errors(consequence):
        change(membership.get_class_store(), *args)


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
            if why := question.measure.why_not(loaded):
                st.warning(f"The question cannot be measured: {plain(why)}", icon=":material/info:")
                return
            measured = question.measure.measure_answer(subject.capture_attention(loaded))
            question_store.store_measured_answer(
                membership.get_class_store(), member.code, state.number, measured
            )
    except KeyError:
        st.warning("The image of this question is unavailable.", icon=":material/info:")
        return
    proof = question.proof
    if proof.slug == st.session_state.get(session_keys.PAGE) and proof.slug in registry.BY_SLUG:
        for name, text in proof.query:
            query_params.request_value(name, text)
    st.rerun()

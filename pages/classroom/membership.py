"""Keep a session's membership in a class: join it, record that the session is present, and leave it."""

import time
from contextlib import suppress
from dataclasses import dataclass, field

import streamlit as st

from pages.controls import notices, query_params, session_keys
from pages.controls.notices import toast_errors
from pages.stores import classes, session
from vitviz.classes.class_store import HEARTBEAT_S, ClassStore, hash_member
from vitviz.classes.codes import parse_code
from vitviz.classes.database import ClassError
from vitviz.classes.shared_view import CLASS, LessonText
from vitviz.lessons.lesson import Lesson
from vitviz.lessons.question_kinds import Answer

SLUG = "class_room"  # the class's own page, which the teacher does not share
CLASS_CLOSED = "The class is closed."
CLASS_UNKNOWN = "No open class has this code."
_NAME = "class.name"  # key of the nickname in the user's notes


@dataclass
class Membership:
    """A session's membership in a class, which survives a reload.

    who: the session's anonymous id in the class. version: of the shared view that was applied last.
    challenge: True if runs can be submitted, as last drawn. pending: the number of the question whose measured answer
        is hidden, as last drawn; 0 for none. slug: the shared page that was applied last. away: the teacher left it.
    images: the class's copy by the teacher's upload. lessons: own lessons that are shared with the class.
    answers: the session's own answers by question number.
    """

    code: str
    leads: bool
    who: str
    follows: bool = True
    version: int = -1
    challenge: bool = False
    pending: int = 0
    slug: str = ""
    away: bool = False
    heartbeat_s: float = -1e9  # time of the last heartbeat, by the monotonic clock
    published: str = ""  # the view that this session shared last
    images: dict[str, str] = field(default_factory=dict)
    lessons: list[Lesson] = field(default_factory=list)
    key: str = ""  # the teacher's key that this session created
    lesson_text: LessonText | None = None  # of the stop that the teacher shares
    error: str = ""  # why the class is unavailable now
    answers: dict[int, Answer] = field(default_factory=dict)


def get_membership() -> Membership | None:
    member: Membership | None = st.session_state.get(session_keys.CLASS)
    return member


def get_class_store() -> ClassStore:
    return classes.get_classes()


def enter_class() -> Membership | None:
    """Return this run's membership, in the class that the address newly names or else in the session's."""
    code = query_params.take_value(CLASS)
    member = get_membership()
    is_return = code is None and session_keys.CLASS not in st.session_state
    if is_return:  # a link without the class was opened in a browser that is in one
        code = _find_earlier_class()
    if code is not None and (member is None or member.code != parse_code(code)):
        try:
            member = join_class(code)
            if member is not None and is_return:
                member.follows = False
        except ClassError:
            query_params.request_value(CLASS, code)
            query_params.set_value(CLASS, code)
            raise
    if member is not None:
        query_params.set_value(CLASS, member.code)
    return member


def join_class(text: str) -> Membership | None:
    """Join the class of a typed code; return None, and store the reason, if there is none.

    Raises:
        ClassError: if the database of classes cannot be read.
    """
    user = session.get_current()
    code, store = parse_code(text), get_class_store()
    try:
        state = classes.try_code(
            user, session.get_address(), lambda: None if code is None else store.load(code)
        )
    except classes.TooManyCodes as error:
        _drop_membership(f"{str(error).capitalize()}.")
        return None
    if state is None:
        _drop_membership(CLASS_UNKNOWN)
        return None
    member = Membership(state.code, state.is_led_by(user.owner), hash_member(state.code, user.token))
    member.follows = store.load_follows(state.code, member.who)
    st.session_state[session_keys.CLASS] = member
    notices.clear_notice(session_keys.CLASS_ENDED)
    user.notes[CLASS] = member.code
    return member


def rejoin_class(code: str) -> None:
    with toast_errors("The class was not opened"):
        join_class(code)


def _find_earlier_class() -> str | None:
    """Return the code of the class that this browser joined last, or of the only class that it has opened."""
    if not classes.has_classes():
        return None
    earlier, own_codes = session.get_current().notes.get(CLASS), list_own_codes()
    return str(earlier) if earlier else own_codes[0] if len(own_codes) == 1 else None


def list_own_codes() -> list[str]:
    """Return the codes of the open classes that this browser leads, newest first; none if they cannot be read."""
    with suppress(ClassError):
        return get_class_store().list_codes(session.get_current().owner) if classes.has_classes() else []
    return []


def end_membership(member: Membership) -> None:
    classes.forget_images(member.code)
    _drop_membership(CLASS_CLOSED)


def leave_class() -> None:
    member = get_membership()
    if member is not None and not member.leads:
        try:
            get_class_store().leave(member.code, member.who)
        except ClassError:  # without heartbeats the learner soon counts as gone
            pass
    _drop_membership("")


def _drop_membership(reason: str) -> None:
    st.session_state[session_keys.CLASS] = None
    session.get_current().notes.pop(CLASS, None)
    notices.store_notice(session_keys.CLASS_ENDED, reason)
    query_params.remove_value(CLASS)


def take_leave_reason() -> str:
    """Return why this session's class was left, and remove the notice; '' if it was not, or on purpose."""
    reason: str = st.session_state.pop(session_keys.CLASS_ENDED, "")
    return reason


def send_heartbeat(member: Membership) -> None:
    """Record every few seconds that this session is present, and clear an earlier error."""
    time_s = time.monotonic()
    if time_s - member.heartbeat_s < HEARTBEAT_S:
        return
    member.heartbeat_s = time_s
    if member.leads:
        get_class_store().record_teacher(member.code)
    else:
        get_class_store().record_learner(member.code, member.who, member.follows, get_nickname())
        classes.keep_images(member.code)
    member.error = ""


def get_nickname() -> str:
    return str(session.get_current().notes.get(_NAME, ""))


def set_nickname(text: str) -> None:
    session.get_current().notes[_NAME] = text
    member = get_membership()
    if member is not None:
        member.heartbeat_s = -1e9

"""Keep a session's membership in a class: join, follow the teacher's view, share one's own, leave."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import streamlit as st

from pages.controls import notices, query_params, session_keys
from pages.controls.widgets import encode_value
from pages.frame import registry
from pages.lessons import open_lesson
from pages.stores import classes, lessons, session
from vitviz.classes import teacher_images
from vitviz.classes.class_question import ClassQuestion
from vitviz.classes.class_store import HEARTBEAT_S, ClassState, ClassStore, hash_member
from vitviz.classes.codes import parse_code
from vitviz.classes.database import ClassError
from vitviz.classes.shared_view import CLASS, LESSON, LessonText, SharedView, build_shared_view
from vitviz.lessons.lesson import Lesson
from vitviz.lessons.question_kinds import Answer
from vitviz.text import plain

SLUG = "class_room"  # the class's own page, which the teacher does not share
CLASS_CLOSED = "The class is closed."
CLASS_UNKNOWN = "No open class has this code."
_NAME = "class.name"  # key of the nickname in the user's notes
_OWN_LESSONS = frozenset({lessons.OPENED, lessons.MINE})


@dataclass
class Membership:
    """A session's membership in a class, which survives a reload.

    who: the session's anonymous id in the class. version: of the shared view that was applied last.
    challenge: True if runs can be submitted, as last drawn. pending: the number of the question whose measured answer
        is hidden, as last drawn; 0 for none. slug: the shared page that was applied last.
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


@contextmanager
def toast_errors(consequence: str) -> Iterator[None]:
    """Show a toast, '<consequence>: <reason>.', if the body raises ClassError or ValueError."""
    try:
        yield
    except (ClassError, ValueError) as error:
        st.toast(f"{consequence}: {plain(str(error))}.", icon=":material/info:", duration="infinite")


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


def take_lead(text: str) -> None:
    """Lead the class of a teacher's key, as it stands in the key's link.

    Raises:
        ClassError: if the key is wrong or revoked, or after many wrong ones.
    """
    user, (code, _, key) = session.get_current(), text.partition(".")
    store = get_class_store()
    accepted = classes.try_code(
        user, session.get_address(), lambda: store.accept_key(code, key, user.owner) or None
    )
    if not accepted:
        raise ClassError("this teacher's key is wrong or was revoked")
    join_class(code)


def create_key() -> None:
    """Create the teacher's key of the class, in a callback; an earlier one is revoked."""
    member = get_membership()
    if member is not None:
        with toast_errors("No key was created"):
            member.key = get_class_store().create_key(member.code, session.get_current().owner)


def revoke_key() -> None:
    """Revoke the teacher's key and every lead that it opened in other browsers, in a callback."""
    member = get_membership()
    if member is not None:
        with toast_errors("The key still opens the lead"):
            get_class_store().revoke_key(member.code, session.get_current().owner)
            member.key = ""


def rejoin_class(code: str) -> None:
    with toast_errors("The class was not opened"):
        join_class(code)


def _find_earlier_class() -> str | None:
    """Return the code of the class that this browser joined last, or of the only class that it has opened."""
    if not classes.has_classes():
        return None
    earlier, own = session.get_current().notes.get(CLASS), list_own_codes()
    return str(earlier) if earlier else own[0] if len(own) == 1 else None


def list_own_codes() -> list[str]:
    """Return the codes of the open classes that this browser leads, newest first; none if they cannot be read."""
    with suppress(ClassError):
        return get_class_store().list_codes(session.get_current().owner) if classes.has_classes() else []
    return []


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
        others = (
            value for value in (shared.get(key), question.before.get(key)) if value not in (None, proof)
        )
        if other := next(others, None):
            incoming[key] = other


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


# ---------------------------------------------------------------- learners


def follow_teacher(member: Membership, state: ClassState, slug: str) -> None:
    """Apply the shared view before anything is drawn, possibly on another page.

    A learner who opens another page stops following; the class's own page is an exception.
    """
    if member.follows and state.version != member.version:
        _apply_shared_view(member, state, slug)
    elif member.follows and member.slug and slug not in (member.slug, SLUG):
        stop_following()


def load_shared_image(member: Membership) -> None:
    """Load the selected image from the class's images, if it is one; of a teacher's upload, the class's copy."""
    incoming = st.session_state.get(session_keys.INCOMING, {})
    image = incoming.get("image") or session_keys.get_control_values().get("image")
    if not isinstance(image, str):
        return
    if member.leads and image.startswith("upload:") and image not in member.images:
        key = image.removeprefix("upload:")
        copy = teacher_images.derive_key(member.code, key)
        if classes.load_image(member.code, f"upload:{copy}", image):
            member.images[image] = f"upload:{copy}"
    elif not member.leads:
        classes.load_image(member.code, image)


def move_to_shared_page(member: Membership, state: ClassState, slug: str) -> None:
    """Rerun with the shared view; on another page at once, which saves a run of this one."""
    view = state.shown
    if view is not None and view.slug in registry.BY_SLUG and view.slug != slug:
        _apply_shared_view(member, state, slug)
    st.rerun()


def _apply_shared_view(member: Membership, state: ClassState, slug: str) -> None:
    view, member.version = state.shown, state.version
    if view is None or view.slug not in registry.BY_SLUG:
        return
    member.slug, member.lesson_text = view.slug, view.words
    if not view.lesson:
        open_lesson.close_lesson()
    if view.slug != slug:
        st.switch_page(registry.BY_SLUG[view.slug].path, query_params={**view.query, CLASS: member.code})
    # The lesson's name goes first even if only its stop is new: `open_lesson.read_address` reads both together.
    lesson = {LESSON: view.query[LESSON]} if LESSON in view.query else {}
    query_params.apply_values({key: value for key, value in view.query.items() if key != LESSON} | lesson)


def stop_following() -> None:
    member = get_membership()
    if member is not None:
        member.follows, member.heartbeat_s = False, -1e9


def resume_following() -> None:
    member = get_membership()
    if member is not None:
        member.follows, member.version, member.heartbeat_s = True, -1, -1e9


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


# ---------------------------------------------------------------- teacher


def publish_view(member: Membership, slug: str) -> None:
    """Share this run's view with the class, if it has changed."""
    if slug == SLUG:
        return
    query, text = query_params.get_values(), _get_lesson_text(member)
    view = build_shared_view(slug, query, member.images, _OWN_LESSONS, text)
    if str(view) == member.published:
        return
    member.version = get_class_store().show(member.code, view)
    member.published = str(view)


def get_own_lesson_stop() -> open_lesson.OpenStop | None:
    stop = open_lesson.get_open_stop()
    return stop if stop is not None and stop.name in _OWN_LESSONS else None


def _get_lesson_text(member: Membership) -> LessonText | None:
    opened = get_own_lesson_stop()
    if opened is None or opened.lesson not in member.lessons:
        return None
    stop, lesson = opened.stop, opened.lesson
    return LessonText(lesson.title, opened.number, len(lesson.stops), stop.title, stop.words, stop.task)


def has_hidden_lesson(member: Membership) -> bool:
    """Return True if an own lesson is open that is not shared with the class."""
    opened = get_own_lesson_stop()
    return opened is not None and opened.lesson not in member.lessons


def share_lesson() -> None:
    """Share the stops of the open own lesson with the class, each as it is shown."""
    member, opened = get_membership(), get_own_lesson_stop()
    if member is not None and opened is not None:
        member.lessons.append(opened.lesson)


def get_followed_lesson() -> LessonText | None:
    """Return the text of the teacher's own lesson for a learner who follows; None if there is none."""
    member = get_membership()
    return None if member is None or member.leads or not member.follows else member.lesson_text


def get_hidden_image(member: Membership) -> str | None:
    """Return the selected image, if it is the user's own and not shared with the class."""
    image = query_params.get_values().get("image", "")
    return image if image.startswith("upload:") and image not in member.images else None


def share_image(image: str) -> None:
    """Share an own image with the class until the class closes.

    Raises:
        ClassError: if the image cannot be stored.
    """
    from pages.stores import uploads

    key = image.removeprefix("upload:")
    member, pixels = get_membership(), uploads.STORE.get(key)
    if member is not None and pixels is not None:
        member.images[image] = (
            f"upload:{teacher_images.store_image(get_class_store(), member.code, pixels, key)}"
        )

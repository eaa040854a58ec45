"""Let learners follow the teacher's view of a page, image and lesson, and share the teacher's view with them."""

from contextlib import suppress
from dataclasses import replace

import streamlit as st

from pages.classroom import membership
from pages.classroom.membership import Membership
from pages.controls import query_params, session_keys
from pages.lessons import open_lesson
from pages.stores import classes, lessons, registry
from vitviz.classes import teacher_images
from vitviz.classes.class_store import ClassState
from vitviz.classes.database import ClassError
from vitviz.classes.shared_view import CLASS, LESSON, LessonText, SharedView, build_shared_view

POLL_S = 0.7
AT_FULL_SPEED = 30  # learners; more learners poll less often
_OWN_LESSONS = frozenset({lessons.OPENED, lessons.MINE})


def get_poll_interval_s() -> float:
    """Return a learner's polling interval, longer in large classes, which share the server's time."""
    member = membership.get_membership()
    try:
        present = 0 if member is None else membership.get_class_store().count_present(member.code).present
    except ClassError:
        present = 0
    return POLL_S * max(1.0, present / AT_FULL_SPEED)


def follow_teacher(member: Membership, state: ClassState, slug: str) -> None:
    """Apply the shared view before anything is drawn, possibly on another page.

    A learner who opens another page stops following; the class's own page is an exception.
    """
    if member.follows and state.version != member.version:
        _apply_shared_view(member, state, slug)
    elif member.follows and member.slug and slug not in (member.slug, membership.SLUG):
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
    view, has_last_page = state.shown, state.version == member.version + 1
    member.version = state.version
    if view is None or view.slug not in registry.BY_SLUG:
        return
    member.away = view.away
    if view.away and has_last_page:  # the learner's page stays as it is
        return
    member.slug, member.lesson_text = view.slug, view.words
    if not view.lesson:
        open_lesson.close_lesson()
    if view.slug != slug:
        st.switch_page(registry.BY_SLUG[view.slug].path, query_params={**view.query, CLASS: member.code})
    # The lesson's name goes first even if only its stop is new: `open_lesson.read_address` reads both together.
    lesson = {LESSON: view.query[LESSON]} if LESSON in view.query else {}
    query_params.apply_values({key: text for key, text in view.query.items() if key != LESSON} | lesson)


def stop_following() -> None:
    member = membership.get_membership()
    if member is not None:
        member.follows, member.heartbeat_s = False, -1e9


def resume_following() -> None:
    member = membership.get_membership()
    if member is not None:
        member.follows, member.version, member.heartbeat_s = True, -1, -1e9


# ---------------------------------------------------------------- teacher


def publish_view(member: Membership, slug: str) -> None:
    """Share this run's view with the class, if it has changed; of the class's own page, that the teacher is there."""
    if slug == membership.SLUG:
        state = membership.get_class_store().load(member.code)
        view = None if state is None or state.version != member.version else state.shown
        if view is not None and not view.away:
            _show(member, replace(view, away=True))
        return
    query, text = query_params.get_values(), _get_lesson_text(member)
    view = build_shared_view(slug, query, member.images, _OWN_LESSONS, text)
    if str(view) != member.published:
        _show(member, view)


def _show(member: Membership, view: SharedView) -> None:
    member.version = membership.get_class_store().show(member.code, view)
    member.published = str(view)


def find_shared_page(code: str) -> str:
    """Return the title of the page that learners see; '' before the first one."""
    with suppress(ClassError):
        state = membership.get_class_store().load(code)
        view = None if state is None else state.shown
        return registry.BY_SLUG[view.slug].title if view is not None and view.slug in registry.BY_SLUG else ""
    return ""


def _get_own_lesson_stop() -> open_lesson.OpenStop | None:
    stop = open_lesson.get_open_stop()
    return stop if stop is not None and stop.name in _OWN_LESSONS else None


def _get_lesson_text(member: Membership) -> LessonText | None:
    opened = _get_own_lesson_stop()
    if opened is None or opened.lesson not in member.lessons:
        return None
    stop, lesson = opened.stop, opened.lesson
    return LessonText(lesson.title, opened.number, len(lesson.stops), stop.title, stop.words, stop.task)


def has_hidden_lesson(member: Membership) -> bool:
    """Return True if an own lesson is open that is not shared with the class."""
    opened = _get_own_lesson_stop()
    return opened is not None and opened.lesson not in member.lessons


def share_lesson() -> None:
    """Share the stops of the open own lesson with the class, each as it is shown."""
    member, opened = membership.get_membership(), _get_own_lesson_stop()
    if member is not None and opened is not None:
        member.lessons.append(opened.lesson)


def get_followed_lesson() -> LessonText | None:
    """Return the text of the teacher's own lesson for a learner who follows; None if there is none."""
    member = membership.get_membership()
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
    member, pixels = membership.get_membership(), uploads.STORE.get(key)
    if member is not None and pixels is not None:
        member.images[image] = (
            f"upload:{teacher_images.store_image(membership.get_class_store(), member.code, pixels, key)}"
        )

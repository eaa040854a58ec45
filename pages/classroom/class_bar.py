"""Draw the class bar above a page, and let the class's teacher lead the page."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import StopException

from pages.classroom import class_question, follow_mode, membership, pen
from pages.classroom.membership import Membership
from pages.controls import notices, session_keys
from pages.controls.notices import toast_errors
from pages.selection import selection
from pages.stores import classes, registry, session
from vitviz.classes.class_store import Attendance
from vitviz.classes.codes import format_code
from vitviz.classes.database import ClassError
from vitviz.plots.theme import PALETTES
from vitviz.text import plain

KEY = "class_bar"
ROW, HEARTBEAT = "class.row", "class.pulse"  # fragments
LEADING_S = 1.0
ATTENDANCE_S = 2.0
RETRY_S = 3.0  # interval of attempts to reach a class that is unavailable
STORAGE_NOTICE = "It is stored on this server, visible to the class, and deleted when the class closes."
# On wide screens the row is a chip beside the page's header, or beside the title of a presentation: it takes no room.
STYLE = Path(__file__).with_suffix(".css").read_text("utf-8")


@contextmanager
def follow_class(slug: str) -> Iterator[None]:
    """Run the page within as a member of its class, if there is one: a learner follows, the teacher shares."""
    if not (session_keys.CLASS in st.session_state or "class" in st.query_params or classes.has_classes()):
        yield
        return
    member = _sync_membership(slug)
    if member is None:
        if slug != membership.SLUG:
            for code in membership.list_own_codes():
                st.button(
                    f"Go on with class {format_code(code)}",
                    key=f"class.go_on.{code}",
                    icon=":material/cast_for_education:",
                    on_click=membership.rejoin_class,
                    args=(code,),
                )
        yield
        return
    class_question.forget_offers()
    bar = st.container(key=KEY, gap=None)  # a question that comes adds no gap
    if not member.leads:
        _draw(bar, slug)
    try:
        yield
    except StopException:
        _publish_view(member, slug)
        raise
    _publish_view(member, slug)
    if member.leads:
        _draw(bar, slug)


def _sync_membership(slug: str) -> Membership | None:
    """Return this run's membership after applying the shared view; draw a warning if the class has ended.

    An unavailable class is retried: by the bar if the session is a member, else by a fragment.
    """
    try:
        member = membership.enter_class()
        if member is not None:
            member = _sync_class(member, slug)
    except ClassError as error:
        member = membership.get_membership()
        if member is None:
            st.warning(f"Class unavailable: {plain(str(error))}.", icon=":material/info:")
            st.fragment(_retry, key=HEARTBEAT, run_every=RETRY_S)()
        else:
            member.error = str(error)
        return member
    notices.draw_notice(session_keys.CLASS_ENDED)
    return member


def _retry() -> None:
    if session_keys.is_fragment_run():
        st.rerun()


def _sync_class(member: Membership, slug: str) -> Membership | None:
    state = membership.get_class_store().load(member.code)
    if state is None:
        membership.end_membership(member)
        return None
    if member.leads and not state.is_led_by(session.get_current().owner):  # the key was revoked
        member.leads, member.images = False, {}
    member.challenge = state.challenge
    if not member.leads:
        follow_mode.follow_teacher(member, state, slug)
        pending = class_question.load_pending()
        member.pending = 0 if pending is None else pending.number
        if pending is not None:
            class_question.hide_proof(pending.question, state.shown, slug)
    follow_mode.load_shared_image(member)
    return member


def _publish_view(member: Membership, slug: str) -> None:
    if member.leads:
        try:
            follow_mode.publish_view(member, slug)
        except ClassError as error:
            st.warning(
                f"This page is not shared with the class: {plain(str(error))}.", icon=":material/info:"
            )


def _draw(bar: DeltaGenerator, slug: str) -> None:
    with bar:
        paper = PALETTES[selection.get_theme()].paper
        st.html(f"<style>:root {{ --class-paper: {paper}; }}\n{STYLE}{class_question.STYLE}</style>")
        member = membership.get_membership()
        leads = member is not None and member.leads
        # A question precedes the row, which wide screens draw at the top.
        st.fragment(
            _poll, key=HEARTBEAT, run_every=LEADING_S if leads else follow_mode.get_poll_interval_s()
        )(slug)
        with st.container(key="class_row", horizontal=True, vertical_alignment="center", gap="small"):
            if leads:
                st.fragment(_draw_teacher_row, key=ROW, run_every=ATTENDANCE_S)(slug)
                class_question.draw_ask_controls()
                st.fragment(pen.draw_button, key="class.draws")()
            else:
                st.fragment(_draw_learner_row, key=ROW)(slug)
            _draw_class_link(slug)


def _poll(slug: str) -> None:
    """Poll the class, send a heartbeat, and draw what changes: the question and the attendance.

    This fragment reruns alone. A learner's row stays outside of it, because whatever is drawn here costs every poll.
    """
    member = membership.get_membership()
    if member is None:
        return
    try:
        state = membership.get_class_store().load(member.code)
        if state is not None:
            membership.send_heartbeat(member)
            if member.leads:
                follow_mode.publish_view(member, slug)
    except ClassError as error:
        member.error = str(error)
    else:
        if state is not None and member.follows and not member.leads and state.version != member.version:
            follow_mode.move_to_shared_page(member, state, slug)
        pending = class_question.load_pending()
        if member.pending and pending is None and member.follows:
            member.version = -1  # applies the proof, which was hidden
        if (
            state is None
            or (member.leads and not state.is_led_by(session.get_current().owner))
            or state.challenge != member.challenge
            or member.pending != (0 if pending is None else pending.number)
        ):
            st.rerun()
    try:
        class_question.draw_question(member)
        if not member.leads:
            pen.draw_strokes(member, slug)
    except ClassError as error:
        member.error = member.error or str(error)
    if member.error:
        st.caption(f"Class unavailable: {plain(member.error)}.")


def _draw_learner_row(slug: str) -> None:
    """Draw a learner's row; this fragment reruns alone when the learner stops following."""
    member = membership.get_membership()
    if member is None:
        return
    code = format_code(member.code)
    with _row():
        if member.follows:
            where = "teacher on Classroom page" if member.away else "following the teacher"
            st.markdown(f":material/co_present: **{code}** · {where}", width="content")
            st.button(
                "Stop following", key="class.around", on_click=follow_mode.stop_following, type="tertiary"
            )
        else:
            st.markdown(f":material/explore: **{code}** · not following", width="content")
            if st.button(
                "Follow teacher", key="class.back", on_click=follow_mode.resume_following, type="tertiary"
            ):
                st.rerun()


def _row() -> DeltaGenerator:
    return st.container(horizontal=True, vertical_alignment="center", gap="small", width="content")


def _draw_teacher_row(slug: str) -> None:
    """Draw the code, the attendance, and what the teacher can share; it polls the attendance."""
    member = membership.get_membership()
    if member is None or not member.leads:
        return
    try:
        attendance = describe_attendance(membership.get_class_store().count_present(member.code))
    except ClassError:
        attendance = "unavailable"
    with _row():
        st.markdown(
            f":material/cast_for_education: **{format_code(member.code)}** · {attendance}", width="content"
        )
        image = follow_mode.get_hidden_image(member)
        if image is not None:
            st.button(
                "Share image with the class",
                key="class.show",
                type="tertiary",
                on_click=_share_image,
                args=(image,),
                help=f"The class does not see your image until you share it. {STORAGE_NOTICE}",
            )
        if follow_mode.has_hidden_lesson(member):
            st.button(
                "Share lesson with the class",
                key="class.show_lesson",
                type="tertiary",
                on_click=follow_mode.share_lesson,
                help=f"Learners then see each stop's text and task beside the page. {STORAGE_NOTICE}",
            )


def _share_image(image: str) -> None:
    with toast_errors("The image is not shared"):
        follow_mode.share_image(image)


def describe_attendance(attendance: Attendance) -> str:
    if not attendance.present:
        return "no learners yet"
    all_follow = attendance.following == attendance.present
    return f"{attendance.following:,}{'' if all_follow else f' of {attendance.present:,}'} following"


def _draw_class_link(slug: str) -> None:
    entry = registry.BY_SLUG.get(membership.SLUG)
    if entry is not None and slug != entry.slug:
        member = membership.get_membership()
        has_challenge = member is not None and member.challenge
        label = "Challenge" if has_challenge else "Classroom"
        st.page_link(entry.path, label=label, width="content")

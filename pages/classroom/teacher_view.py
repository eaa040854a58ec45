"""Draw the teacher's view of a class: invitation, attendance, challenge, and the buttons to end it."""

import streamlit as st

from pages.classroom import challenge_board, follow_mode, invitation, membership, teacher_key
from pages.classroom.class_bar import describe_attendance
from pages.classroom.membership import Membership
from pages.controls import downloads
from pages.controls.notices import toast_errors
from pages.frame import page
from pages.stores import classes, session
from vitviz.classes import challenge, teacher_images
from vitviz.classes.challenge import TERMS
from vitviz.classes.database import ClassError
from vitviz.classes.question_store import list_results, tabulate_results
from vitviz.csv_table import csv_text
from vitviz.text import plain, plural

ATTENDANCE_S = 2.0


def draw(member: Membership) -> None:
    invitation.draw(member.code)
    shown = follow_mode.find_shared_page(member.code)
    text = (
        f"Learners see {shown} until you open a page"
        if shown
        else "Open any page, and learners follow you there"
    )
    page.caption(f"{text}. Press P to present this page.")
    st.fragment(_draw_attendance, key="class_room.here", run_every=ATTENDANCE_S)(member.code)
    draw_challenge(member)
    store = membership.get_class_store()
    with st.container(horizontal=True):
        downloads.download(
            "Results of all questions (CSV)",
            lambda: csv_text(tabulate_results(list_results(store, member.code))),
            f"class_{member.code}.csv",
            "class_room.results",
        )
        if member.images:
            st.button(
                f"Stop sharing {plural(len(member.images), 'image')}",
                key="class_room.hide",
                icon=":material/visibility_off:",
                help="Deletes your shared images from this server.",
                on_click=_delete_images,
            )
        teacher_key.draw_key(member)
        with st.popover("Close class", icon=":material/logout:"):
            st.markdown("Questions, board and shared images are deleted; runs stay with their owners.")
            st.button("Close class now", key="class_room.close", on_click=_close_class)


def draw_challenge(member: Membership) -> None:
    """Draw the challenge's board, if there is one, and the teacher's button to open or end it."""
    try:
        state = challenge.load_challenge(membership.get_class_store(), member.code)
    except ClassError as error:
        st.caption(plain(str(error)))
        return
    if state is not None:
        challenge_board.draw(member, state)
    if not member.leads:
        return
    is_open = state is not None and not state.ended
    st.button(
        "End challenge" if is_open else "Open challenge" if state is None else "Reopen challenge",
        key="class_room.challenge",
        icon=":material/trophy:",
        on_click=_toggle_challenge,
        args=(is_open,),
        help=None if state is not None else TERMS,
    )


def _toggle_challenge(is_open: bool) -> None:
    member = membership.get_membership()
    if member is not None:
        with toast_errors("The challenge is unchanged"):
            change = challenge.close_challenge if is_open else challenge.open_challenge
            change(membership.get_class_store(), member.code)


def _draw_attendance(code: str) -> None:
    try:
        attendance = describe_attendance(membership.get_class_store().count_present(code))
    except ClassError as error:
        st.caption(plain(str(error)))
        return
    st.markdown(f":material/groups: {attendance[:1].upper()}{attendance[1:]}.")


def _delete_images() -> None:
    member = membership.get_membership()
    if member is not None:
        with toast_errors("The images are still shared"):
            teacher_images.delete_images(membership.get_class_store(), member.code)
            member.images.clear()
            classes.forget_images(member.code)


def _close_class() -> None:
    member = membership.get_membership()
    if member is not None:
        with toast_errors("The class is still open"):
            membership.get_class_store().close(member.code, session.get_current().owner)
            classes.forget_images(member.code)
            membership.leave_class()

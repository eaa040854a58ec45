"""Draw the page of classes: the forms to open and join one, or the view of its teacher or learner."""

from pathlib import Path
from typing import Literal

import streamlit as st

from pages.classroom import invitation, membership, preview, teacher_key, teacher_view
from pages.classroom.membership import Membership
from pages.controls import notices
from pages.frame import page
from pages.stores import classes, session
from vitviz.classes.class_store import MAX_NAME_LENGTH, clean_name
from vitviz.classes.codes import format_code
from vitviz.classes.database import ClassError
from vitviz.text import plain

_NOTICE = "class_room._notice"
_NAME = "class_room._name"
STYLE = Path(__file__).with_suffix(".css")


def draw_join_forms() -> None:
    notices.draw_notice(_NOTICE)
    st.html(STYLE)
    open_codes = _list_own_codes()
    preview.draw()
    teach, learn = st.columns(2, gap="medium")
    with teach, st.container(key="class-card-teach"):
        st.header("Teach", anchor=False)
        st.markdown("Learners see the page that you open, with your model, step, image and pin.")
        _draw_teacher_form(open_codes)
    with learn, st.container(key="class-card-join"):
        st.header("Join", anchor=False)
        st.markdown("Your screen follows the projector. Scan its QR code, or enter its code.")
        _draw_learner_form("secondary" if open_codes else "primary")


def _draw_teacher_form(open_codes: list[str]) -> None:
    for code in open_codes:
        st.button(
            f"Continue class {format_code(code)}",
            key=f"class_room.mine.{code}",
            type="primary",
            on_click=_join_class,
            args=(code,),
        )
    if classes.needs_code():
        st.text_input("Operator's code", key="class_room._operator", type="password", max_chars=64)
    st.button(
        "Open class",
        key="class_room.open",
        icon=":material/cast_for_education:",
        on_click=_open_class,
        help="No accounts needed. The class ends when you close it, or twelve hours after you last used the app.",
    )


def _list_own_codes() -> list[str]:
    try:
        return membership.get_class_store().list_codes(session.get_current().owner)
    except ClassError as error:
        st.warning(plain(_format_error(error)), icon=":material/info:")
        return []


def _draw_learner_form(button: Literal["primary", "secondary"]) -> None:
    form = st.form("class_room.join", border=False)
    with form, st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Class code", key="class_room._code", max_chars=16, placeholder="6 letters or digits")
        st.form_submit_button("Join", icon=":material/login:", type=button, on_click=_submit_code)


def _open_class() -> None:
    try:
        code = st.session_state.get("class_room._operator", "")
        if not classes.check_operator_code(session.get_current(), session.get_address(), code):
            notices.store_notice(_NOTICE, "Wrong operator's code: ask the operator of this server.")
            return
        membership.join_class(membership.get_class_store().open(session.get_current().owner))
        notices.clear_notice(_NOTICE)
    except ClassError as error:
        notices.store_notice(_NOTICE, _format_error(error))


def _submit_code() -> None:
    code = st.session_state["class_room._code"]
    if code.strip():
        _join_class(code)
    else:
        notices.store_notice(_NOTICE, "Enter the code that your teacher shows.")


def _join_class(code: str) -> None:
    try:
        joined = membership.join_class(code) is not None
        notices.store_notice(_NOTICE, "" if joined else membership.take_leave_reason())
    except ClassError as error:
        notices.store_notice(_NOTICE, _format_error(error))


def _format_error(error: ClassError) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def draw_learner_view(member: Membership) -> None:
    if member.follows and not member.slug:
        st.markdown(":material/hourglass_top: You joined. This page changes once your teacher opens another.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        draw_nickname_field()
        st.button(
            "Leave class", key="class_room.leave", icon=":material/logout:", on_click=membership.leave_class
        )
    # Not page.caption: in the glossary, a teacher is a model.
    st.caption("Nobody sees which page you open. Use 'Stop following' to explore on your own.")
    teacher_view.draw_challenge(member)
    with st.expander("Invite others", icon=":material/qr_code_2:"):
        invitation.draw(member.code)


def draw_nickname_field() -> None:
    st.text_input(
        "Nickname (optional)",
        membership.get_nickname(),
        key=_NAME,
        max_chars=MAX_NAME_LENGTH,
        on_change=store_nickname,
        help="Shown only beside the runs that you submit to a challenge.",
    )


def store_nickname() -> None:
    membership.set_nickname(clean_name(st.session_state[_NAME]))


page.header("class_room")
teacher_key.read_key()
member = membership.get_membership()
if member is None:
    draw_join_forms()
elif member.leads:
    teacher_view.draw(member)
else:
    draw_learner_view(member)

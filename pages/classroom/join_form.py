"""Who is in no class: the button that opens one, and the field for a code."""

from __future__ import annotations

import streamlit as st

from pages.classroom import membership, nickname
from pages.frame import page
from pages.selection import selection
from pages.stores import classes, session
from vitviz.classes.codes import spaced
from vitviz.classes.database import ClassError
from vitviz.text import plain

_NOTICE = "class_room._notice"  # one sentence about what could not be done, shown once


def draw() -> None:
    """Two ways in, side by side."""
    if notice := st.session_state.pop(_NOTICE, None):
        st.warning(plain(notice), icon=":material/info:")
    teach, learn = st.columns(2, gap="large")
    with teach:
        st.subheader("Teach", anchor=False)
        _teach()
    with learn:
        st.subheader("Join", anchor=False)
        _join()


def _teach() -> None:
    st.markdown("Everybody in the class sees the page that you are on: model, step, picture and pin.")
    mine = _mine()
    for code in mine:
        st.button(
            f"Go on with class {spaced(code)}", key=f"class_room.mine.{code}", on_click=_enter, args=(code,)
        )
    if classes.needs_code():
        st.text_input("The operator's code", key="class_room._operator", type="password", max_chars=64)
    st.button(
        "Open a class",
        key="class_room.open",
        icon=":material/cast_for_education:",
        type="secondary" if mine else selection.first_button(),
        on_click=_open,
    )
    page.caption("It ends when you close it, or twelve hours after your last visit. Nobody needs an account.")


def _mine() -> list[str]:
    try:
        return membership.store().of(session.current().owner)
    except ClassError as error:
        st.warning(f"{plain(_sentence(error))}", icon=":material/info:")
        return []


def _join() -> None:
    with st.form("class_room.join", border=False):
        st.text_input("Code of the class", key="class_room._code", max_chars=16, placeholder="K7Q M4T")
        nickname.draw()
        st.form_submit_button("Join", icon=":material/login:", on_click=_joined)


def _open() -> None:
    try:
        if not classes.may_open(st.session_state.get("class_room._operator", ""), session.address()):
            st.session_state[_NOTICE] = "That is not the operator's code: whoever runs this server has it."
            return
        membership.come(membership.store().open(session.current().owner))
    except ClassError as error:
        st.session_state[_NOTICE] = _sentence(error)


def _joined() -> None:
    nickname.take()
    code = st.session_state["class_room._code"]
    if code.strip():
        _enter(code)
    else:
        st.session_state[_NOTICE] = "Type the code that your teacher shows."


def _enter(code: str) -> None:
    try:
        if membership.come(code) is None:
            st.session_state[_NOTICE] = membership.take_over()
    except ClassError as error:
        st.session_state[_NOTICE] = _sentence(error)


def _sentence(error: ClassError) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."

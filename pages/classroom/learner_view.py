"""Draw a learner's view of a class: nickname, challenge, invitation, and the button to leave."""

from collections.abc import Callable

import streamlit as st

from pages.classroom import invitation, membership, teacher_view
from pages.classroom.membership import Membership
from vitviz.classes.class_store import MAX_NAME_LENGTH, clean_name

_NAME = "class_room._name"


def draw(member: Membership) -> None:
    if member.follows and not member.slug:
        st.markdown(":material/hourglass_top: You joined. This page changes once your teacher opens another.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        draw_nickname_field(on_change=store_nickname)
        st.button(
            "Leave class", key="class_room.leave", icon=":material/logout:", on_click=membership.leave_class
        )
    # Not page.caption: in the glossary, a teacher is a model.
    st.caption("Nobody sees which page you open. Use 'Stop following' to explore on your own.")
    teacher_view.draw_challenge(member)
    with st.expander("Invite others", icon=":material/qr_code_2:"):
        invitation.draw(member.code)


def draw_nickname_field(on_change: Callable[[], None] | None = None) -> None:
    """Draw the field for a nickname; within a form, it is read when the form is submitted."""
    st.text_input(
        "Nickname (optional)",
        membership.get_nickname(),
        key=_NAME,
        max_chars=MAX_NAME_LENGTH,
        on_change=on_change,
        help="Shown only beside the runs that you submit to a challenge.",
    )


def store_nickname() -> None:
    membership.set_nickname(clean_name(st.session_state[_NAME]))

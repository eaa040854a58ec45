"""A learner's side: that one is in, under which name, and the way out."""

from __future__ import annotations

import streamlit as st

from pages.classroom import invitation, membership, nickname, teacher_view
from pages.classroom.membership import Place


def draw(place: Place) -> None:
    """Who one is here, and what will happen."""
    if place.follows and not place.slug:
        st.markdown(
            ":material/hourglass_top: You are in. This page changes as soon as your teacher shows one."
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        nickname.draw(on_change=nickname.take)
        st.button(
            "Leave the class", key="class_room.leave", icon=":material/logout:", on_click=membership.leave
        )
    # Not page.caption: the glossary's teacher is a model.
    st.caption("Nobody sees which page you look at. 'Look around' lets go of your teacher's page.")
    teacher_view.challenged(place)
    with st.expander("Bring somebody in", icon=":material/qr_code_2:"):
        invitation.draw(place.code)

"""The teacher's side: how others come in, who is here, and the end."""

from __future__ import annotations

import streamlit as st

from pages.classroom import challenge_board, invitation, membership
from pages.classroom.class_bar import who
from pages.classroom.membership import Place
from pages.frame import page
from pages.stores import session
from vitviz.classes import challenge, teacher_images
from vitviz.classes.challenge import TERMS
from vitviz.classes.database import ClassError
from vitviz.text import plain, plural

WHO_S = 2.0


def draw(place: Place) -> None:
    """What a class sees on the wall while it comes in, then what its teacher does."""
    invitation.draw(place.code)
    page.caption("P shows this in large. Then go to any page: whoever follows comes with you.")
    st.fragment(_here, key="class_room.here", run_every=WHO_S)(place.code)
    challenged(place)
    with st.container(horizontal=True):
        if place.pictures:
            st.button(
                f"Take back {plural(len(place.pictures), 'picture')}",
                key="class_room.hide",
                icon=":material/visibility_off:",
                help="Removes your pictures that the class sees from this server's disk.",
                on_click=_hide,
            )
        with st.popover("Close the class", icon=":material/logout:"):
            st.markdown(
                "Its questions, its board and its pictures go with it; runs stay with who trained them."
            )
            st.button("Close it now", key="class_room.close", on_click=_close)


def challenged(place: Place) -> None:
    """The board where there is one, and what the teacher can do about it."""
    try:
        now = challenge.now(membership.store(), place.code)
    except ClassError as error:
        st.caption(plain(str(error)))
        return
    if now is not None:
        challenge_board.draw(place, now)
    if not place.leads:
        return
    ends = now is not None and not now.ended
    st.button(
        "End the challenge" if ends else "Open a challenge" if now is None else "Take runs again",
        key="class_room.challenge",
        icon=":material/trophy:",
        on_click=_challenge,
        args=(ends,),
        help=None if now is not None else TERMS,
    )


def _challenge(ends: bool) -> None:
    place = membership.current()
    if place is not None:
        try:
            (challenge.end if ends else challenge.begin)(membership.store(), place.code)
        except ClassError as error:
            st.toast(f"Nothing has changed: {plain(str(error))}.", icon=":material/info:")


def _here(code: str) -> None:
    try:
        present = membership.store().present(code)
    except ClassError as error:
        st.caption(plain(str(error)))
        return
    st.markdown(f":material/groups: {who(present)[:1].upper()}{who(present)[1:]}.")


def _hide() -> None:
    place = membership.current()
    if place is not None:
        try:
            teacher_images.remove(membership.store(), place.code)
        except ClassError as error:
            st.toast(f"They are still shown: {plain(str(error))}.", icon=":material/info:")
            return
        place.pictures.clear()
        membership.forget_pictures(place)


def _close() -> None:
    place = membership.current()
    if place is not None:
        try:
            membership.store().close(place.code, session.current().owner)
        except ClassError as error:
            st.toast(f"It is not closed: {plain(str(error))}.", icon=":material/info:")
            return
        membership.forget_pictures(place)
        membership.leave()

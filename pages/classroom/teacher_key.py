"""Draw the teacher's key, which opens the lead in another browser, and accept it there.

The key stands in the link's fragment, which browsers send to no server and in no Referer. The link's document takes it
out of the address and opens the page of classes, which sends it over its own connection; from then on the session's
cookie leads. The page of classes cannot be the link itself, because Streamlit drops a fragment before any view runs.
"""

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit import config

from pages.classroom import invitation, membership
from pages.classroom.membership import Membership
from pages.controls.notices import toast_errors
from pages.stores import classes, session
from pages.views.register import register
from vitviz.classes import class_store as key_store
from vitviz.classes.database import ClassError
from vitviz.plots.blob import pack
from vitviz.text import plain

PATH = "lead"  # of the link's document
_DOCUMENT = f'<!doctype html><meta charset="utf-8"><title>vitviz</title><script src="{PATH}.js"></script>'
_SCRIPT = f"""sessionStorage.setItem('vitviz.lead', location.hash.slice(1));
location.replace('{membership.SLUG}');"""
_teacher_key = register(__file__, "teacher_key")


def list_routes() -> list[Route]:
    """Return the routes of the link's document and of its script."""
    base = config.get_option("server.baseUrlPath").strip("/")
    prefix = f"/{base}/{PATH}" if base else f"/{PATH}"

    async def answer(_request: Request) -> Response:
        return Response(_DOCUMENT, media_type="text/html", headers={"Cache-Control": "no-store"})

    async def answer_script(_request: Request) -> Response:
        return Response(_SCRIPT, media_type="text/javascript", headers={"Cache-Control": "no-store"})

    return [Route(prefix, answer), Route(f"{prefix}.js", answer_script)]


def read_key() -> None:
    """Lead the class whose key stands in this page's address."""
    text = _teacher_key(pack({}), key="class_room.key", height=1, triggers=("open",)).open
    member = membership.get_membership()
    if not isinstance(text, str) or (
        member is not None and member.leads and text.startswith(f"{member.code}.")
    ):
        return
    try:
        _take_lead(text)
    except ClassError as error:
        st.warning(f"{plain(str(error).capitalize())}.", icon=":material/info:")
        return
    st.rerun()


def _take_lead(text: str) -> None:
    """Lead the class of a teacher's key, as it stands in the key's link.

    Raises:
        ClassError: if the key is wrong or revoked, or after many wrong ones.
    """
    user, (code, _, key) = session.get_current(), text.partition(".")
    store = membership.get_class_store()
    accepted = classes.try_code(
        user, session.get_address(), lambda: key_store.accept_key(store, code, key, user.owner) or None
    )
    if not accepted:
        raise ClassError("this teacher's key is wrong or was revoked")
    membership.join_class(code)


def _create_key() -> None:
    member = membership.get_membership()
    if member is not None:
        with toast_errors("No key was created"):
            owner = session.get_current().owner
            member.key = key_store.create_key(membership.get_class_store(), member.code, owner)


def _revoke_key() -> None:
    member = membership.get_membership()
    if member is not None:
        with toast_errors("The key still opens the lead"):
            key_store.revoke_key(membership.get_class_store(), member.code, session.get_current().owner)
            member.key = ""


def draw_key(member: Membership) -> None:
    with st.popover("Teacher's key", icon=":material/key:"):
        st.markdown(
            "Anyone with the key can lead the class, also you on another device or after this browser was closed."
        )
        if member.key:
            link = invitation.build_address(f"{PATH}#{member.code}.{member.key}")
            st.caption("A projector shows this, too.")
            st.html(f'<img src="{invitation.encode_qr_code(link)}" alt="QR code of the key" width="224">')
            st.code(link, language=None, wrap_lines=True)
        else:
            st.button(
                "Create key",
                key="class_room.create_key",
                help="Revokes an earlier key.",
                on_click=_create_key,
            )
        st.button(
            "Revoke key",
            key="class_room.revoke_key",
            help="Browsers that used the key can no longer lead the class.",
            on_click=_revoke_key,
        )

"""Images of a user's own, or three letters drawn here for who has none at hand."""

from __future__ import annotations

import streamlit as st

from pages.controls import popover, query_params
from pages.frame import page
from pages.selection import upload
from pages.stores import session, user_datasets
from vitviz.data.dataset import DatasetError
from vitviz.data.letters import LETTERS, TEST, TRAIN, letters_zip
from vitviz.text import plain, reason

MOST_MB = 64
SIDE_PX = 32
ZIP = "A zip with one folder a class, or with *train* and *test* that hold one folder a class each"
_REFUSED = "fine_tuning._refused"
_TURN = "fine_tuning._turn"


def draw_upload(control: str) -> None:
    """The button behind which a set is brought; one that can be used becomes what the control of this key says."""
    with popover.draw_popover("Your own images", "upload", "fine_tuning.pictures"):
        if popover.is_closed():
            return
        _add_letters(control)
        st.divider()
        turn = st.session_state.setdefault(_TURN, 0)
        key = f"fine_tuning._zip_{turn}"
        st.file_uploader(ZIP, type=["zip"], key=key, max_upload_size=MOST_MB)
        file = upload.take_file(key)
        if refused := st.session_state.get(_REFUSED):
            st.error(plain(refused), icon=":material/block:")
        if file is not None:
            st.session_state[_TURN] = turn + 1
            _store_dataset(file.data, file.name.removesuffix(".zip"), control)
            st.rerun()
        st.caption(user_datasets.PRIVACY)
        _remove_dataset()


def _add_letters(control: str) -> None:
    names = ", ".join(LETTERS)
    words = f"{names}: {TRAIN} images of each to learn from, {TEST} to test, hand-drawn style."
    if st.button(
        "Draw three letters", key="fine_tuning._draw", icon=":material/draw:", help=words, width="stretch"
    ):
        _store_dataset(letters_zip(), f"letters {names}", control)
        st.rerun()
    page.download("Download as a zip", letters_zip, "letters.zip", "fine_tuning._letters", stretch=True)


def _store_dataset(data: bytes, title: str, control: str) -> None:
    st.session_state.pop(_REFUSED, None)
    if len(data) > MOST_MB * 2**20:  # the browser's limit is only the browser's
        st.session_state[_REFUSED] = (
            f"The zip has {len(data) / 2**20:.0f} MB; up to {MOST_MB} MB are accepted."
        )
        return
    try:
        with st.spinner("Reading the images …"):
            note = user_datasets.store_dataset(
                session.get_current(), data, title, SIDE_PX, address=session.get_address()
            )
    except DatasetError as error:
        st.session_state[_REFUSED] = str(error)
        return
    query_params.request_value(control, note.name)


def _remove_dataset() -> None:
    mine = user_datasets.list_datasets(session.get_current())
    if not mine:
        return
    name = st.selectbox(
        "Your dataset", list(mine), format_func=lambda key: mine[key].title, key="fine_tuning._set"
    )
    st.button(
        "Remove images",
        key="fine_tuning._remove",
        icon=":material/delete:",
        on_click=_forget_dataset,
        args=(name,),
    )


def _forget_dataset(name: str) -> None:
    try:
        user_datasets.remove_dataset(session.get_current(), name)
    except OSError as error:
        st.session_state[_REFUSED] = f"The images could not be removed ({reason(error)})."

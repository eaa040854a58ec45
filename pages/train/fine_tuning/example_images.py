"""Upload a dataset for fine-tuning, or generate one of three letters."""

import streamlit as st

from pages.controls import popover, query_params
from pages.frame import page
from pages.selection import upload
from pages.stores import session, user_datasets
from vitviz.data.dataset import DatasetError
from vitviz.data.letters import LETTERS, TEST, TRAIN, letters_zip
from vitviz.text import plain, reason
from vitviz.upload_limits import DATASET_ZIP_BYTES

SIDE_PX = 32
ZIP = "A zip with one folder per class, or with folders *train* and *test* that hold one folder per class"
_REFUSED = "fine_tuning._refused"


def draw_upload(control: str) -> None:
    """Draw the popover that uploads a dataset; `control` is the key of the widget that then selects it."""
    with popover.draw_popover("Your images", "upload", "fine_tuning.pictures"):
        if popover.is_closed():
            return
        _add_letters(control)
        st.divider()
        file = upload.receive_zip("fine_tuning._zip", ZIP, DATASET_ZIP_BYTES)
        if refused := st.session_state.get(_REFUSED):
            st.error(plain(refused), icon=":material/block:")
        if file is not None:
            _store_dataset(file.data, file.name.removesuffix(".zip"), control)
            st.rerun()
        st.caption(user_datasets.PRIVACY)
        _draw_removal()


def _add_letters(control: str) -> None:
    names = ", ".join(LETTERS)
    counts = f"{TRAIN} training and {TEST} test images of each letter: {names}."
    if st.button(
        "Generate images of three letters",
        key="fine_tuning._draw",
        icon=":material/draw:",
        help=counts,
        width="stretch",
    ):
        _store_dataset(letters_zip(), f"letters {names}", control)
        st.rerun()
    page.download("Download as a zip", letters_zip, "letters.zip", "fine_tuning._letters")


def _store_dataset(zip_bytes: bytes, title: str, control: str) -> None:
    st.session_state.pop(_REFUSED, None)
    try:
        with st.spinner("Reading the images …"):
            note = user_datasets.store_dataset(
                session.get_current(), zip_bytes, title, SIDE_PX, address=session.get_address()
            )
    except DatasetError as error:
        st.session_state[_REFUSED] = str(error)
        return
    query_params.request_value(control, note.name)


def _draw_removal() -> None:
    datasets = user_datasets.list_datasets(session.get_current())
    if not datasets:
        return
    name = st.selectbox(
        "Your dataset", list(datasets), format_func=lambda key: datasets[key].title, key="fine_tuning._set"
    )
    st.button(
        "Delete images",
        key="fine_tuning._remove",
        icon=":material/delete:",
        on_click=_delete_dataset,
        args=(name,),
    )


def _delete_dataset(name: str) -> None:
    try:
        user_datasets.remove_dataset(session.get_current(), name)
    except OSError as error:
        st.session_state[_REFUSED] = f"The images could not be deleted ({reason(error)})."

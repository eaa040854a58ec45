"""Upload the user's own images as a dataset, describe it, and delete it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import streamlit as st

from pages.controls import notices, query_params
from pages.selection import upload
from pages.stores import session, user_datasets
from pages.train.lab.field_widgets import PREFIX
from pages.train.lab.lab_controls import RecipeControls
from vitviz.text import plain, plural
from vitviz.upload_limits import DATASET_ZIP_BYTES

if TYPE_CHECKING:
    from vitviz.data.uploaded_datasets import UploadedNote

SIZES_PX = (32, 48, 64, 96)
_REFUSED = "live_lab._own_refused"
LINK_NOTICE = "live_lab._dataset_notice"
_SMALLEST_BATCH = 4
PROGRESS_INTERVAL_S = 0.1
CANCELLED = "The upload was cancelled and nothing was stored: choose the file again."


def draw_upload(batch: int) -> None:
    """Draw the uploader; a valid upload becomes the form's dataset.

    Args:
        batch: batch size of the form, reduced if the dataset is too small for it.
    """
    size = st.segmented_control(
        "Size of your images",
        SIZES_PX,
        default=SIZES_PX[0],
        required=True,
        key="live_lab._own_size",
        format_func=lambda px: f"{px} px",
        help="Each image is cropped to its central square and resized; larger images train more slowly.",
    )
    file = upload.receive_zip("live_lab._own", "Zip with one folder of images per class", DATASET_ZIP_BYTES)
    if refused := st.session_state.get(_REFUSED):
        st.error(plain(refused), icon=":material/block:")
    if file is None:
        st.caption(user_datasets.PRIVACY)
        return
    _store_upload(file, size, batch)
    st.rerun()


def _store_upload(file: upload.UploadedFile, size: int, batch: int) -> None:
    from vitviz.data.dataset import DatasetError

    # A click ends this script run at its next draw call, which is the progress bar: nothing is stored half.
    st.session_state[_REFUSED] = CANCELLED
    bar, due = st.progress(0.0, "Reading the images…"), _throttle()
    st.button("Cancel", key="live_lab._own_cancel", icon=":material/close:")

    def progress(done: int, total: int) -> None:
        if next(due):
            bar.progress(done / max(1, total), f"Read {done:,} of {total:,} images…")

    try:
        note = user_datasets.store_dataset(
            session.get_current(),
            file.data,
            file.name.removesuffix(".zip"),
            size,
            progress,
            session.get_address(),
        )
    except DatasetError as error:
        st.session_state[_REFUSED] = str(error)
        return
    st.session_state.pop(_REFUSED, None)
    notices.clear_notice(LINK_NOTICE)
    query_params.request_value(RecipeControls.key("dataset"), note.name)
    largest_batch = max(_SMALLEST_BATCH, sum(note.train_counts) // 8)
    if batch > largest_batch:
        query_params.request_value(f"{PREFIX}batch_size", str(largest_batch))


def _throttle() -> Iterator[bool]:
    """Yield True at most once per `PROGRESS_INTERVAL_S`, so that not every image updates the progress bar."""
    last_s = 0.0
    while True:
        now_s = time.monotonic()
        due = now_s - last_s >= PROGRESS_INTERVAL_S
        last_s = now_s if due else last_s
        yield due


def draw_dataset(note: UploadedNote) -> None:
    """Draw a dataset's classes with image counts, and the button that deletes it."""
    import pandas as pd

    count = sum(note.train_counts) + sum(note.test_counts)
    st.markdown(
        f"{plural(count, 'image')} of {note.image_size} × {note.image_size} px in"
        f" {plural(len(note.classes), 'class', 'classes')}."
    )
    table = {"Class": note.classes, "Training images": note.train_counts, "Test images": note.test_counts}
    st.dataframe(
        pd.DataFrame(table), hide_index=True, width="stretch", height=min(220, 38 + 35 * len(note.classes))
    )
    if note.left_out:
        files = plural(note.left_out, "file was", "files were")
        more = " …" if note.left_out > len(note.reasons) else ""
        st.caption(f"{files} skipped. " + plain(" · ".join(note.reasons) + more))
    removable = user_datasets.may_remove(session.get_current(), note)
    st.button(
        "Delete these images" if removable else "Remove from my list",
        icon=":material/delete:",
        key="live_lab._own_remove",
        on_click=upload.remove_dataset,
        args=(note.name, _REFUSED),
        help="Deletes them from the server; runs trained on them stay."
        if removable
        else "Only the session that uploaded them can delete them.",
    )

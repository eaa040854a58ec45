"""A visitor's own pictures as a training set: the upload, what became of it, and its removal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import streamlit as st

from pages.controls import query_params
from pages.selection import upload
from pages.stores import session, user_datasets
from pages.train.lab.fields import BATCH
from pages.train.lab.keys import Recipe
from vitviz.text import plain, plural, reason

if TYPE_CHECKING:
    from vitviz.data.own_datasets import OwnNote

MOST_MB = 64
SIZES_PX = (32, 48, 64, 96)
_REFUSED = "live_lab._own_refused"
_TURN = "live_lab._own_turn"
_SMALLEST_BATCH = 4
TELL_S = 0.1
CANCELLED = "The reading was broken off, and nothing was kept: choose the file again."


def draw_upload(batch: int) -> None:
    """The uploader; a set that can be used becomes the data set of the form.

    Args:
        batch: of the form; a set that is too small for it makes it smaller.
    """
    size = st.segmented_control(
        "Your own pictures, brought to",
        SIZES_PX,
        default=SIZES_PX[0],
        required=True,
        key="live_lab._own_size",
        format_func=lambda px: f"{px} px",
        help="Every picture's centre square is scaled to this side; a larger one trains more slowly.",
    )
    turn = st.session_state.setdefault(_TURN, 0)
    key = f"live_lab._own_{turn}"
    st.file_uploader(
        "A zip with one folder of pictures per class", type=["zip"], key=key, max_upload_size=MOST_MB
    )
    file = upload.take(key)
    if refused := st.session_state.get(_REFUSED):
        st.error(plain(refused), icon=":material/block:")
    if file is None:
        st.caption(user_datasets.PRIVACY)
        return
    st.session_state[_TURN] = turn + 1
    _take(file, size, batch)
    st.rerun()


def _take(file: upload.Received, size: int, batch: int) -> None:
    from vitviz.data.dataset import DatasetError

    st.session_state.pop(_REFUSED, None)
    if len(file.data) > MOST_MB * 2**20:  # the browser's limit is only the browser's
        st.session_state[_REFUSED] = (
            f"The zip has {len(file.data) / 2**20:.0f} MB; up to {MOST_MB} MB are accepted."
        )
        return
    # Any click ends this run of the script where it next draws, which is in `told`: so nothing is kept by halves.
    st.session_state[_REFUSED] = CANCELLED
    bar, told = st.progress(0.0, "Reading the pictures …"), _telling()
    st.button("Cancel", key="live_lab._own_cancel", icon=":material/close:")

    def progress(done: int, total: int) -> None:
        if next(told):
            bar.progress(done / max(1, total), f"Read {done:,} of {total:,} pictures …")

    try:
        note = user_datasets.keep(
            session.current(), file.data, file.name.removesuffix(".zip"), size, progress, session.address()
        )
    except DatasetError as error:
        st.session_state[_REFUSED] = str(error)
        return
    st.session_state.pop(_REFUSED, None)
    query_params.want(Recipe.key("dataset"), note.name)
    fitting = max(_SMALLEST_BATCH, sum(note.train_counts) // 8)
    if batch > fitting:
        query_params.want(BATCH.key, str(fitting))


def _telling() -> Iterator[bool]:
    """Whether it is time to say how far it is: not for every picture."""
    said = 0.0
    while True:
        now = time.monotonic()
        due = now - said >= TELL_S
        said = now if due else said
        yield due


def draw_set(note: OwnNote) -> None:
    """What a set holds, class by class, and the button that removes it."""
    import pandas as pd

    count = sum(note.train_counts) + sum(note.test_counts)
    st.markdown(
        f"{plural(count, 'picture')} of {note.image_size} × {note.image_size} px in"
        f" {plural(len(note.classes), 'class', 'classes')}."
    )
    table = {"Class": note.classes, "To learn from": note.train_counts, "To test": note.test_counts}
    st.dataframe(
        pd.DataFrame(table), hide_index=True, width="stretch", height=min(220, 38 + 35 * len(note.classes))
    )
    if note.left_out:
        files = plural(note.left_out, "file was", "files were")
        more = " …" if note.left_out > len(note.reasons) else ""
        st.caption(f"{files} left out. " + plain(" · ".join(note.reasons) + more))
    mine = user_datasets.may_remove(session.current(), note)
    st.button(
        "Remove these pictures" if mine else "Forget these pictures",
        icon=":material/delete:",
        key="live_lab._own_remove",
        on_click=_remove,
        args=(note.name,),
        help="They are deleted from the server at once; runs that were trained on them stay."
        if mine
        else "They leave your list; only the visit that brought them can delete them.",
    )


def _remove(name: str) -> None:
    try:
        user_datasets.remove(session.current(), name)
    except OSError as error:
        st.session_state[_REFUSED] = f"The pictures could not be removed ({reason(error)})."

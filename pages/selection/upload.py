"""Draw file uploaders, and take each file once without Streamlit's copy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st
from starlette.formparsers import MultiPartParser
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.stores import session, user_datasets
from vitviz.text import reason

# While a file arrives, the web server moves what is beyond 1 MB to a temporary file; 0: never, it stays in memory.
# Streamlit stops a body that is longer than server.maxUploadSize, so this is bounded.
MultiPartParser.spool_max_size = 0


@dataclass(frozen=True)
class UploadedFile:
    """An uploaded file; its name is untrusted text."""

    name: str
    data: bytes


def draw_uploader(
    key: str, label: str, receive: Callable[[UploadedFile], None], *, camera: bool = False, **options: Any
) -> None:
    """Draw an uploader, or a camera, that passes each file on in a callback and is then empty again.

    Args:
        key: beginning of the widget's key, which ends in the number of earlier files.
        options: of Streamlit's widget.
    """
    widget: Any = st.camera_input if camera else st.file_uploader
    widget(label, key=_number_key(key), on_change=_pass_on, args=(key, receive), **options)


def receive_zip(key: str, label: str, most_bytes: int) -> UploadedFile | None:
    """Draw an uploader of a zip as `draw_uploader` does, and return the file that has arrived."""
    st.file_uploader(label, key=_number_key(key), type=["zip"], max_upload_size=most_bytes >> 20)
    return _take_numbered(key)


def remove_dataset(name: str, notice: str) -> None:
    """Remove a user's dataset (a callback); why that failed is stored in the session under the key `notice`."""
    try:
        user_datasets.remove_dataset(session.get_current(), name)
    except OSError as error:
        st.session_state[notice] = f"The images could not be deleted ({reason(error)})."


def _number_key(key: str) -> str:
    return f"{key}.{st.session_state.setdefault(f'{key}._count', 0)}"


def _pass_on(key: str, receive: Callable[[UploadedFile], None]) -> None:
    if (file := _take_numbered(key)) is not None:
        receive(file)


def _take_numbered(key: str) -> UploadedFile | None:
    if (file := take_file(_number_key(key))) is not None:
        st.session_state[f"{key}._count"] += 1
    return file


def take_file(key: str) -> UploadedFile | None:
    """Return the uploaded file and forget it; None if there is none or it was deleted meanwhile.

    A rerun that meets an upload under way (a fragment that polls) finds a `DeletedFile`, which has no bytes.
    """
    file = st.session_state.get(key)
    read = getattr(file, "getvalue", None)
    if file is None or read is None:
        return None
    received = UploadedFile(str(file.name), read())
    context, file_id = get_script_run_ctx(), getattr(file, "file_id", None)
    if context is not None and file_id is not None:
        files: Any = context.uploaded_file_mgr  # the server's own; the protocol does not name `remove_file`
        files.remove_file(context.session_id, file_id)
    return received

"""Take the file of a file uploader once and drop Streamlit's copy."""

from dataclasses import dataclass
from typing import Any

import streamlit as st
from starlette.formparsers import MultiPartParser
from streamlit.runtime.scriptrunner import get_script_run_ctx

# While a file arrives, the web server moves what is beyond 1 MB to a temporary file; 0: never, it stays in memory.
# Streamlit stops a body that is longer than server.maxUploadSize, so this is bounded.
MultiPartParser.spool_max_size = 0


@dataclass(frozen=True)
class UploadedFile:
    """An uploaded file; its name is untrusted text."""

    name: str
    data: bytes


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

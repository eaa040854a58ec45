"""Bound the files that a browser may send to the server before a page takes them.

A security guard, always installed: Streamlit keeps any number of uploads of a session, also those that no widget asked
for, as long as the session lives.
"""

import threading
import time
from functools import cache
from weakref import WeakKeyDictionary

from starlette.exceptions import HTTPException
from streamlit.config import get_option
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from pages.streamlit_fixes.installation import FunctionReplacement, apply
from vitviz.upload_limits import SERVER_BYTES, SESSION_BYTES, SESSION_FILES

REFUSAL = "Too many uploads at once. Try again in a few minutes."
KEPT_S = 300.0  # a file that no page has taken by then belongs to no widget
_add_file = MemoryUploadedFileManager.add_file
_lock = threading.Lock()
# By manager, the server's, once it holds a file: the arrival of each file by session and id.
_arrivals: WeakKeyDictionary[MemoryUploadedFileManager, dict[tuple[str, str], float]] = WeakKeyDictionary()


@cache
def install() -> None:
    """Replace the function that stores an uploaded file; repeated calls do nothing.

    A session has room for two files of the operator's `server.maxUploadSize`.
    """
    global SESSION_BYTES, SERVER_BYTES
    largest = int(get_option("server.maxUploadSize")) * 2**20
    SESSION_BYTES, SERVER_BYTES = max(SESSION_BYTES, 2 * largest), max(SERVER_BYTES, 4 * largest)
    apply(
        FunctionReplacement(MemoryUploadedFileManager, "add_file", "self session_id file", _add_bounded_file),
        FunctionReplacement(MemoryUploadedFileManager, "remove_file", "self session_id file_id"),
    )


def count_free_bytes() -> int:
    """Return how much the server has room for beside the uploaded files that no page has taken yet."""
    return SERVER_BYTES - sum(_count_bytes(*manager.file_storage.values()) for manager in [*_arrivals])


def _count_bytes(*sessions: dict[str, UploadedFileRec]) -> int:
    return sum(len(stored.data) for files in sessions for stored in [*files.values()])


def _add_bounded_file(manager: MemoryUploadedFileManager, session_id: str, file: UploadedFileRec) -> None:
    """Store a file for `KEPT_S` if its session and the server have room for it.

    Raises:
        HTTPException: 413 if they have not.
    """
    remove_unclaimed()  # else what a busy server has not removed yet would refuse this file
    with _lock:
        arrivals = _arrivals.setdefault(manager, {})
    session_files = manager.file_storage.get(session_id, {})
    size = len(file.data)
    if (
        len(session_files) >= SESSION_FILES
        or _count_bytes(session_files) + size > SESSION_BYTES
        or _count_bytes(*manager.file_storage.values()) + size > SERVER_BYTES
    ):
        raise HTTPException(413, REFUSAL)
    _add_file(manager, session_id, file)
    with _lock:
        arrivals[session_id, file.file_id] = time.monotonic()


def remove_unclaimed() -> None:
    """Remove the files that no page has taken in time; each upload and, once a minute, the server call this."""
    time_s = time.monotonic()
    with _lock:
        for manager, arrivals in [*_arrivals.items()]:
            for (session_id, file_id), arrived in [*arrivals.items()]:
                is_stored = file_id in manager.file_storage.get(session_id, {})
                if is_stored and time_s - arrived >= KEPT_S:
                    manager.remove_file(session_id, file_id)
                if not is_stored or time_s - arrived >= KEPT_S:
                    del arrivals[session_id, file_id]

"""Keep files for download until the browser has fetched them.

Without this fix (Streamlit 1.67; related: streamlit#4254, #12942): each run gives a page's downloads new names, and
the end of any session's run deletes the old ones. In a class whose pages poll, a click on a download then fails with
404.
"""

import time

from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileKind

from pages.streamlit_fixes.installation import FunctionReplacement, apply

KEPT_S = 10.0  # a browser on a slow line has started the download long before
_get_inactive_file_ids = MediaFileManager._get_inactive_file_ids


def install() -> None:
    """Keep unused downloads for `KEPT_S`."""
    apply(
        FunctionReplacement(
            MediaFileManager, "_remove_orphaned_deferred_callables", "self", _drop_expired_callables
        ),
        FunctionReplacement(MediaFileManager, "_drop_deferred_id", "self file_id"),
    )
    apply(FunctionReplacement(MediaFileManager, "_get_inactive_file_ids", "self", _list_expired_files))


def _drop_expired_callables(manager: MediaFileManager) -> None:
    """Drop deferred downloads that no page has shown for `KEPT_S`; the caller holds the manager's lock."""
    shown = {name for files in manager._files_by_session_and_coord.values() for name in files.values()}
    time_s = time.monotonic()
    unused_since: dict[str, float] = manager.__dict__.setdefault("_unused_since", {})
    for name in [*manager._deferred_callables]:
        if name in shown:
            unused_since.pop(name, None)
        elif time_s - unused_since.setdefault(name, time_s) >= KEPT_S:
            manager._drop_deferred_id(name)
    for name in unused_since.keys() - manager._deferred_callables.keys():
        del unused_since[name]


def _list_expired_files(manager: MediaFileManager) -> set[str]:
    """Return unused files, without downloads younger than `KEPT_S`; the caller holds the manager's lock."""
    time_s = time.monotonic()
    expired = set()
    for name in _get_inactive_file_ids(manager):
        file = manager._file_metadata[name]
        unused_since = file.__dict__.setdefault("_vitviz_unused_since", time_s)
        if file.kind != MediaFileKind.DOWNLOADABLE or time_s - unused_since >= KEPT_S:
            expired.add(name)
    return expired

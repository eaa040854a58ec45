"""What a visitor takes along stays on the server until the browser has it, whoever's run ends meanwhile."""

from __future__ import annotations

import time

from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileKind

from pages.streamlit_fixes.replacement import Change, make

KEPT_S = 10.0  # a browser on a slow line has the next page, or has begun with the file, long before
_inactive = MediaFileManager._get_inactive_file_ids


def install() -> None:
    """Has the server keep downloads for `KEPT_S` more.

    Each run of a page gives its downloads new names, and whoever's run ends next makes the server forget the old ones:
    a click between that and the moment when the new names reach the browser gave nothing, without a word.

    And once a click has made its file, the browser asks for that by its address: two more runs' ends, whosever, made
    the server forget it, and a class whose labs poll twice a second has two ends in 33 ms.
    """
    make(
        Change(MediaFileManager, "_remove_orphaned_deferred_callables", "self", _forget_later),
        Change(MediaFileManager, "_drop_deferred_id", "self file_id"),
    )
    make(Change(MediaFileManager, "_get_inactive_file_ids", "self", _not_on_its_way))


def _forget_later(manager: MediaFileManager) -> None:
    """Drops the downloads that no page has shown for `KEPT_S`; Streamlit holds the manager's lock."""
    shown = {name for files in manager._files_by_session_and_coord.values() for name in files.values()}
    now = time.monotonic()
    gone_since: dict[str, float] = manager.__dict__.setdefault("_gone_since", {})
    for name in [*manager._deferred_callables]:
        if name in shown:
            gone_since.pop(name, None)
        elif now - gone_since.setdefault(name, now) >= KEPT_S:
            manager._drop_deferred_id(name)
    for name in gone_since.keys() - manager._deferred_callables.keys():
        del gone_since[name]


def _not_on_its_way(manager: MediaFileManager) -> set[str]:
    """The files that no page shows, but for downloads made within `KEPT_S`; Streamlit holds the manager's lock."""
    now = time.monotonic()
    found = set()
    for name in _inactive(manager):
        file = manager._file_metadata[name]  # a new one at every click
        gone_since = file.__dict__.setdefault("_vitviz_gone_since", now)
        if file.kind != MediaFileKind.DOWNLOADABLE or now - gone_since >= KEPT_S:
            found.add(name)
    return found

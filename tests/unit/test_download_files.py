"""A press on a download brings its file, whoever's run ends meanwhile."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.runtime import media_file_manager
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from pages.streamlit_fixes.optional import download_files


def test_a_download_that_the_browser_still_shows_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another session's run made the server forget it before the next run's name had reached the browser."""
    download_files.install()
    monkeypatch.setattr(media_file_manager, "_get_session_id", lambda: "a")
    manager = MediaFileManager(MemoryMediaFileStorage("/media"))
    shown = manager.add_deferred(lambda: b"ours", "text/plain", "0.1", "ours.txt")
    manager.clear_session_refs("a")  # its page runs again ...
    manager.remove_orphaned_files()  # ... and somebody's run ends meanwhile
    assert manager.execute_deferred(shown).startswith("/media/")

    monkeypatch.setattr(download_files, "KEPT_S", 0.0)
    again = manager.add_deferred(lambda: b"ours", "text/plain", "0.1", "ours.txt")
    manager.remove_orphaned_files()
    assert manager.execute_deferred(again).startswith("/media/")  # the new one is shown
    with pytest.raises(MediaFileStorageError):
        manager.execute_deferred(shown)  # the old one was let go
    manager.remove_deferred("0.1")
    manager.remove_orphaned_files()
    assert manager._deferred_callables == manager.__dict__["_unused_since"] == {}  # nothing heaps up


def test_a_file_that_a_click_made_waits_for_the_browser_to_ask_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two other sessions' runs ended between the click's answer and the request for its address: the file was gone."""
    download_files.install()
    monkeypatch.setattr(media_file_manager, "_get_session_id", lambda: "a")
    clock = [0.0]
    monkeypatch.setattr(download_files, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    manager = MediaFileManager(MemoryMediaFileStorage("/media"))
    shown = manager.add_deferred(lambda: b"ours", "text/plain", "0.1", "ours.txt")

    def pressed() -> str:
        return manager.execute_deferred(shown).rpartition("/")[2].partition(".")[0]

    def others_runs_end() -> None:
        for _ in range(3):
            manager.remove_orphaned_files()

    made = pressed()
    others_runs_end()
    assert manager.read_file(made) is not None
    clock[0] = download_files.KEPT_S - 1.0
    assert pressed() == made  # the same content, pressed again: its time begins anew
    others_runs_end()
    clock[0] = download_files.KEPT_S + 1.0
    others_runs_end()
    assert manager.read_file(made) is not None
    clock[0] = 2 * download_files.KEPT_S
    others_runs_end()
    assert manager.read_file(made) is None  # nothing heaps up

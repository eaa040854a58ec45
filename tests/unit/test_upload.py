"""A file that a page has taken is held by nobody else."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from pages.selection import upload


def test_the_raw_file_goes_when_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    files = MemoryUploadedFileManager("upload")
    for name in ("taken", "another"):
        files.add_file("session", UploadedFileRec(name, "a.png", "image/png", b"a picture"))
    (record,) = files.get_files("session", ["taken"])
    monkeypatch.setattr(st, "session_state", {"widget": UploadedFile(record, FileURLs())})
    context = SimpleNamespace(session_id="session", uploaded_file_mgr=files)
    monkeypatch.setattr(upload, "get_script_run_ctx", lambda: context)
    assert upload.take_file("widget") == upload.UploadedFile("a.png", b"a picture")
    assert [file.file_id for file in files.get_files("session", ["taken", "another"])] == ["another"]


def test_what_has_gone_meanwhile_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {"deleted": SimpleNamespace(file_id="gone")})
    assert upload.take_file("deleted") is None and upload.take_file("no such widget") is None

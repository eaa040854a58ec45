"""The largest uploads, and uploads that no page takes: bounded by bytes, by number and by time."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.exceptions import HTTPException
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from pages.frame import startup
from pages.stores import user_datasets
from pages.stores.session import UserSession
from pages.streamlit_fixes.required import upload_guard
from vitviz import upload_limits
from vitviz.data.dataset import DatasetError

ROOT = Path(__file__).parents[2]


def test_the_server_the_proxy_and_the_pages_agree_on_the_largest_upload() -> None:
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))["server"]
    deployed = "".join(
        (ROOT / "deploy" / name).read_text("utf-8") for name in ("haproxy.cfg", "docker-compose.yml")
    )
    defaults = re.findall(r"STREAMLIT_SERVER_MAX_UPLOAD_SIZE:?-(\d+)", deployed)
    assert {config["maxUploadSize"], *map(int, defaults)} == {upload_limits.FILE_BYTES >> 20}
    assert len(defaults) == 3
    kinds = ("IMAGE", "DATASET_ZIP", "RUN_ZIP", "CHECKPOINT", "LESSON")
    assert all(getattr(upload_limits, f"{kind}_BYTES") <= upload_limits.FILE_BYTES for kind in kinds)


@pytest.mark.parametrize(
    "document, limits",
    [
        (
            "SECURITY.md",
            (
                f"{upload_limits.WEIGHTS_FILES} files, the operator's size limit",
                f"at most {upload_limits.SESSION_BYTES >> 20} MB and {upload_limits.SESSION_FILES} files per session,"
                f" {upload_limits.SERVER_BYTES >> 30} GB in all",
                f"open images fill the {upload_limits.IMAGES_BYTES >> 20} MB",
                f"at most {upload_limits.UPLOADS_PER_USER} runs and {upload_limits.UPLOADS_PER_USER} datasets per hour"
                f" and session; {upload_limits.UPLOADS_PER_ADDRESS} of each",
                f"images of {upload_limits.CLASS_IMAGE_BYTES >> 20} MB in each of",
                f"| {upload_limits.CLASS_IMAGES_BYTES >> 30} GB in all, then refused",
                f"Images of up to {upload_limits.IMAGE_BYTES >> 20} MB that are all structure",
                f"({upload_limits.FILE_BYTES >> 20} MB is the largest upload)",
                f"`$VITVIZ_OWN_WEIGHTS_MB` ({upload_limits.WEIGHTS_DISK_MB})",
            ),
        ),
        (
            "deploy/README.md",
            (
                f"images of all users take at most {upload_limits.IMAGES_BYTES >> 20} MB,"
                f" uploaded weights {upload_limits.WEIGHTS_DISK_MB >> 10} GB on disk",
                f"Files of up to {upload_limits.FILE_BYTES >> 20} MB are accepted",
            ),
        ),
    ],
)
def test_documents_state_the_limits_in_force(document: str, limits: tuple[str, ...]) -> None:
    text = (ROOT / document).read_text("utf-8")
    assert [limit for limit in limits if limit not in text] == []


def test_a_zip_that_passes_the_browser_s_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_datasets, "DATASET_ZIP_BYTES", 2**20)
    with pytest.raises(DatasetError, match="The zip has 3.0 MB; at most 1 MB are accepted"):
        user_datasets.store_dataset(UserSession("token"), bytes(3 * 2**20), "large", 32)


@pytest.fixture
def uploads() -> MemoryUploadedFileManager:
    upload_guard.install()
    upload_guard.install()  # every run of the app does
    return MemoryUploadedFileManager("upload")


def put(uploads: MemoryUploadedFileManager, session: str, name: str, size: int) -> None:
    uploads.add_file(session, UploadedFileRec(name, name, "image/png", bytes(size)))


def test_a_session_cannot_heap_up_files_that_no_widget_asked_for(
    uploads: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifteen files of 128 MB stayed for ever: 1.9 GB."""
    monkeypatch.setattr(upload_guard, "SESSION_BYTES", 1000)
    put(uploads, "a", "1", 600)
    with pytest.raises(HTTPException, match="Too many") as refused:
        put(uploads, "a", "2", 600)
    assert refused.value.status_code == 413
    put(uploads, "b", "2", 600)  # others are not hindered
    uploads.remove_file("a", "1")  # as a page does that takes it
    put(uploads, "a", "2", 600)
    assert {name: [*files] for name, files in uploads.file_storage.items()} == {"a": ["2"], "b": ["2"]}


def test_the_number_of_files_and_the_bytes_of_all_sessions_are_bounded(
    uploads: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(upload_guard.SESSION_FILES):
        put(uploads, "a", str(i), 0)
    with pytest.raises(HTTPException):
        put(uploads, "a", "one more", 0)
    monkeypatch.setattr(upload_guard, "SERVER_BYTES", 1000)
    put(uploads, "b", "1", 600)
    with pytest.raises(HTTPException):
        put(uploads, "c", "1", 600)


def test_a_file_that_no_page_takes_goes_in_its_own_time(
    uploads: MemoryUploadedFileManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(upload_guard, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    put(uploads, "a", "first", 1)
    put(uploads, "a", "taken", 1)
    uploads.remove_file("a", "taken")
    clock[0] = 100.0
    put(uploads, "b", "second", 1)
    for clock[0], left in (
        (upload_guard.KEPT_S - 1.0, {"a": ["first"], "b": ["second"]}),
        (upload_guard.KEPT_S, {"a": [], "b": ["second"]}),
        (upload_guard.KEPT_S + 100.0, {"a": [], "b": []}),
    ):
        startup.remove_expired()
        assert {name: [*files] for name, files in uploads.file_storage.items()} == left
    assert upload_guard._arrivals[uploads] == {}

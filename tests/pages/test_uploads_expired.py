"""A file that has gone between two runs of the script: a rerun by a fragment that polls while a file arrives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.testing.v1 import AppTest

from pages.controls import session_keys
from tests.pages.lab.conftest import executor, folder
from tests.pages.lab.helpers import PAGE

__all__ = ["executor", "folder"]
LABELS = (
    "Your image",
    "A .safetensors file of a ViT or Swin, or a zip of its folder",
    "Zip with one folder of images per class",
    "Zip of a downloaded run",
)


@pytest.mark.usefixtures("executor")
def test_every_uploader_takes_a_file_that_has_gone_for_none(
    open_app: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app(PAGE)
    app.session_state["nouns.source"] = "own"  # the sidebar's uploader of images
    app.session_state[session_keys.MODEL_DIALOG] = "own"  # the dialog's of weights
    app.run()
    uploaders = {uploader.label: uploader for uploader in app.get("file_uploader")}
    assert set(LABELS) == set(uploaders), "a new uploader is tested here too"
    monkeypatch.setattr(MemoryUploadedFileManager, "get_files", lambda *args, **kwargs: [])
    for label in LABELS:
        uploader = next(one for one in app.get("file_uploader") if one.label == label)
        uploader.upload("cat.zip", b"...", "application/zip")
        app.run()
        assert not app.exception, f"{label}: {app.exception[0].message}"

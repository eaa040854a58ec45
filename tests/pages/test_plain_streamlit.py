"""Without the optional fixes of Streamlit every page opens; the guards of security stay installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pages.stores import registry

ROOT = Path(__file__).parents[2]
SCRIPT = """
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.testing.v1 import AppTest
from pages.streamlit_fixes.required import upload_guard
from pages.stores import registry

plain = AppSession.request_rerun
for entry in registry.PAGES:
    app = AppTest.from_file("app.py", default_timeout=120)
    app.switch_page(entry.path).run()
    assert not app.exception, (entry.slug, app.exception[0].message)
    assert app.main.children, entry.slug
assert AppSession.request_rerun is plain
assert MemoryUploadedFileManager.add_file is upload_guard._add_bounded_file
print(len(registry.PAGES), "pages")
"""


@pytest.mark.slow  # a process of its own opens every page
def test_every_page_opens_without_the_fixes() -> None:
    environment = os.environ | {"VITVIZ_PLAIN_STREAMLIT": "1"}
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0 and finished.stdout.endswith(f"{len(registry.PAGES)} pages\n"), (
        finished.stderr[-2000:]
    )

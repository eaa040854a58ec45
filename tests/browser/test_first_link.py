"""A link to a page may be the first thing that a fresh server ever sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import free_port, settle, start_server, stop_server

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_the_first_session_of_a_server_may_be_a_link_to_a_page(browser: Browser, tmp_path: Path) -> None:
    port = free_port()
    server = start_server("app.py", port, tmp_path / "server.log", {"VITVIZ_RUNS": str(tmp_path / "runs")})
    try:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{port}/patches?model=preset:vit_digits")
        settle(page)
        expect(page.locator('[data-testid="stMain"] h1')).to_have_text("Patches")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.close()
    finally:
        stop_server(server)

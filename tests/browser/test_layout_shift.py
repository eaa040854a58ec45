"""A page keeps its place while its views, figures and style sheets come: nothing jumps under a user who reads."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser

from benchmarks.layout_shift import PHONE, WATCH, WIDE, moved
from pages.streamlit_fixes.required.view_heights import load_heights
from tests.browser.conftest import settle

pytestmark = pytest.mark.browser
MOST = 0.1  # web.dev/cls: what is called good
PAGES = (
    "",
    "positions",
    "studies?studies.study=positions",
    "live_lab",
    "layers",
    "fine_tuning",
    "which_model",
    "studies",
)
PHONE_PAGES = ("", "block", "fine_tuning", "which_model", "two_images", "studies")


@pytest.mark.slow
@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_what_a_first_session_sees_stays_in_its_place(browser: Browser, server_url: str, phone: bool) -> None:
    for slug in PHONE_PAGES if phone else PAGES:
        context = browser.new_context(**(PHONE if phone else WIDE))  # without a cache
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.add_init_script(f"({WATCH})()")
        page.goto(f"{server_url}/{slug}")
        settle(page)
        total, largest = moved(page)
        context.close()
        assert total < MOST, f"{slug}: {total:.3f}, most of it {largest}"


def test_a_stored_height_is_that_of_a_widget_or_view_by_its_key() -> None:
    found = load_heights()
    assert len(found) > 150
    for key, (wide, phone) in found.items():
        assert re.fullmatch(r"[\w-]+", key) and 0 <= wide <= 4000 and 0 <= phone <= 6000, key

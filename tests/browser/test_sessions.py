"""A visit in a real browser: what a reload, Back and another tab of it find again."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, choose_in_menu, settle

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]


TITLES = {
    "/patches": "Patches",
    "/positions": "Positions",
    "/block": "Inside a block",
}


def arrived(page: Page, slug: str) -> None:
    """The address is this page's, its heading stands, and its script has run: the address alone comes first."""
    page.wait_for_url(re.compile(rf"{slug}\?.*crop="))
    expect(page.get_by_role("heading", name=TITLES[slug], level=1)).to_be_visible()
    settle(page)


@pytest.mark.slow
def test_back_and_forward_go_a_page_with_one_press(open_page: OpenPage) -> None:
    page = open_page("patches?model=preset:vit_digits&image=digits:3")
    arrived(page, "/patches")
    for slug in ("/positions", "/block"):
        choose_in_menu(page, slug.lstrip("/"))
        arrived(page, slug)
    for slug in ("/positions", "/patches"):
        page.go_back()
        arrived(page, slug)
    for slug in ("/positions", "/block"):  # what was gone back from is still there
        page.go_forward()
        arrived(page, slug)


def test_a_session_is_named_by_a_cookie_and_never_by_an_address(open_page: OpenPage) -> None:
    page = open_page("patches")
    page.wait_for_function("() => document.cookie.includes('vitviz_visit=')")
    (cookie,) = [cookie for cookie in page.context.cookies() if cookie["name"] == "vitviz_visit"]
    assert re.fullmatch(r"[\w-]{22}\.[\w-]{43}", cookie["value"]) and cookie["sameSite"] == "Strict"
    assert cookie["value"] not in page.url
    page.reload()
    settle(page)
    assert [c["value"] for c in page.context.cookies() if c["name"] == "vitviz_visit"] == [cookie["value"]]


def test_a_forged_cookie_is_replaced(open_page: OpenPage) -> None:
    page = open_page("patches")
    page.wait_for_function("() => document.cookie.includes('vitviz_visit=')")
    forged = f"{'a' * 22}.{'b' * 43}"
    page.evaluate("value => { document.cookie = `vitviz_visit=${value}; Path=/; SameSite=Strict`; }", forged)
    page.reload()
    settle(page)
    page.wait_for_function("value => !document.cookie.includes(value)", arg=forged)
    assert "vitviz_visit=" in page.evaluate("document.cookie")


@pytest.mark.alone
def test_a_reload_keeps_every_run_of_the_session(open_page: OpenPage) -> None:
    page = open_page("live_lab?live_lab.recipe=digits_live&live_lab.length=0.5")
    for count in (1, 2):
        page.get_by_role("button", name="Start training").click()
        expect(page.get_by_text("Best validation").first).to_be_attached(timeout=120_000)
        expect(page.locator('[data-testid="stMain"] .stMarkdownBadge').filter(has_text="done")).to_be_visible(
            timeout=240_000
        )
        if count == 2:
            expect(page.get_by_text("Compare with", exact=True)).to_be_visible()
    page.goto(page.url.partition("?")[0])  # without the link that names a run
    settle(page)
    expect(page.get_by_text("Run shown", exact=True)).to_be_visible()
    expect(
        page.get_by_text("Compare with", exact=True)
    ).to_be_visible()  # offered only where there is a second run

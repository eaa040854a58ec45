"""Back just after a click: it is no address that came late, and is followed however soon it is pressed."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import WAIT_MS, Visit, settle
from tests.browser.test_attention import explorer

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def address(page: Page) -> tuple[str, set[str]]:
    """The page's name and what its query says, in whichever order."""
    name, _, query = page.url.partition("?")
    return name, set(query.split("&"))


def choose_in_menu(page: Page, section: str, title: str) -> None:
    page.locator('[data-testid="stTopNavSection"]').filter(has_text=section).click()
    page.locator('[data-testid="stTopNavDropdownLink"]').get_by_text(title, exact=True).click()


def test_the_menu_leads_from_a_study_to_the_gallery_and_back_to_the_study(visit: Visit) -> None:
    page = visit("studies?studies.study=published_sizes")
    heading = page.locator("h1")
    choose_in_menu(page, "Studies", "Studies")
    expect(heading).to_have_text("Studies")
    page.evaluate("history.back()")
    expect(heading).to_have_text("Data size in the papers")
    page.evaluate("history.forward()")
    expect(heading).to_have_text("Studies")


def chosen(page: Page) -> str:
    """The head that the address names; '' where the address is of another page."""
    found = re.search(r"/attention\?.*attention\.head=(\w+)", page.url)
    return found[1] if found else ""


@pytest.mark.parametrize("waited_ms", [0, 40, 80, 150, 300, 600])
def test_back_after_a_click_undoes_it_or_leaves_the_page(visit: Visit, waited_ms: int) -> None:
    page = visit("patches?model=checkpoint:digits_vit&image=digits:3")
    before = address(page)
    choose_in_menu(page, "The model", "Attention")
    page.wait_for_url(re.compile(r"/attention\?.*attention\.head="))
    view = explorer(page)
    settle(page)
    head = chosen(page)
    view.locator(f'.ax-heads button:not([aria-pressed="true"]):not([data-head="{head}"])').nth(2).click()
    page.wait_for_timeout(waited_ms)
    page.evaluate("history.back()")
    page.wait_for_timeout(1000)  # longer than an address counts as one that came late

    def is_back() -> bool:
        if chosen(page):  # the click's address had come: Back takes the click back
            return chosen(page) == head == explorer(page).get_attribute("data-head")
        # It had not: Back leaves the page, and the click's address does not stand under another name.
        return address(page) == before and page.get_by_role("heading", level=1, name="Patches").is_visible()

    end = time.monotonic() + WAIT_MS / 1000
    while not is_back() and time.monotonic() < end:  # the server answers when it can
        page.wait_for_timeout(100)
    settle(page)
    assert is_back(), page.url

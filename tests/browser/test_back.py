"""Back just after a click: it is no address that came late, and is followed however soon it is pressed."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from pages.stores import registry
from tests.browser.conftest import WAIT_MS, OpenPage, choose_in_menu, settle
from tests.browser.test_attention import explorer

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def address(page: Page) -> tuple[str, set[str]]:
    """The page's name and what its query says, in whichever order."""
    name, _, query = page.url.partition("?")
    return name, set(query.split("&"))


@pytest.mark.slow
@pytest.mark.parametrize("slug", ["words", "lessons"])
def test_a_page_without_a_selection_has_no_sidebar_also_after_one_that_has(
    open_page: OpenPage, slug: str
) -> None:
    """Streamlit keeps the empty sidebar of the page before until the next event, which would move the page."""
    page = open_page("patches?model=checkpoint:digits_vit&image=digits:3")
    sidebar = page.locator('[data-testid="stSidebar"]')
    expect(sidebar.locator(".st-key-model")).to_be_visible()
    choose_in_menu(page, slug)
    expect(page.locator("h1")).to_contain_text(registry.BY_SLUG[slug].title)
    expect(sidebar).to_be_hidden()
    choose_in_menu(page, "patches")
    expect(sidebar.locator(".st-key-model")).to_be_visible()


def test_the_menu_leads_from_a_study_to_the_gallery_and_back_to_the_study(open_page: OpenPage) -> None:
    page = open_page("studies?studies.study=published_sizes")
    heading = page.locator("h1")
    choose_in_menu(page, "studies")
    expect(heading).to_have_text("Studies")
    page.evaluate("history.back()")
    expect(heading).to_have_text("Data size in the papers")
    page.evaluate("history.forward()")
    expect(heading).to_have_text("Studies")


def test_a_card_opens_a_study_without_controls_at_its_top_and_in_the_address(open_page: OpenPage) -> None:
    page = open_page("studies")
    settle(page)
    page.get_by_role("link", name="What is [CLS] for?").click()
    page.wait_for_url(re.compile(r"studies\.study=three_readouts"))
    expect(page.locator("h1")).to_be_in_viewport()
    settle(page)
    page.evaluate("history.back()")
    expect(page.locator("h1")).to_have_text("Studies")


def chosen(page: Page) -> str:
    """The head that the address names; '' where the address is of another page."""
    found = re.search(r"/attention\?.*attention\.head=(\w+)", page.url)
    return found[1] if found else ""


@pytest.mark.slow
@pytest.mark.parametrize("waited_ms", [0, 80, 300])
def test_back_after_a_click_undoes_it_or_leaves_the_page(open_page: OpenPage, waited_ms: int) -> None:
    page = open_page("patches?model=checkpoint:digits_vit&image=digits:3")
    before = address(page)
    choose_in_menu(page, "attention")
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

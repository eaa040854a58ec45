"""The old image stays, dimmed, from a click in the menu until the next one is drawn."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from pages.stores import registry
from tests.browser.conftest import OpenPage, choose_in_menu

pytestmark = pytest.mark.browser
# Of every moment at which the page changes: whether a drawn view, or the copy of one, stands in the main column.
WATCH = """() => {
  window.seen = [];
  const stands = () => {
    const drawn = [...document.querySelectorAll('[data-testid=stMain] [data-testid=stElementContainer][data-drawn]')];
    if (drawn.some((place) => place.clientHeight > 60)) return 'picture';
    return document.querySelector('body > div[inert][aria-hidden=true]') ? 'copy' : 'nothing';
  };
  const look = () => {
    if (window.seen.at(-1) !== stands()) window.seen.push(stands());
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
# The copy goes after some seconds, which a slow server may need; here they are minutes.
PATIENT = "() => { const now = performance.now.bind(performance); performance.now = () => now() / 20; }"
COPY = 'body > div[inert][aria-hidden="true"]'


def go(page: Page, slug: str) -> None:
    choose_in_menu(page, slug)
    expect(page.locator("h1").first).to_have_text(registry.BY_SLUG[slug].title)


def test_no_frame_between_two_pages_is_without_an_image(open_page: OpenPage) -> None:
    page = open_page("positions?model=preset:vit_digits&image=digits:3")
    page.locator('[data-component="similarity_view"][data-ready="true"]').wait_for()
    page.evaluate(PATIENT)
    page.evaluate(WATCH)
    go(page, "block")
    page.locator('[data-component="block_view"][data-ready="true"]').first.wait_for()
    expect(page.locator(COPY)).to_have_count(0)
    assert page.evaluate("window.seen") == ["picture", "copy", "picture"]


def test_no_frame_between_two_sections_is_without_an_image(open_page: OpenPage) -> None:
    page = open_page("attention?model=checkpoint:digits_vit&image=digits:3")
    page.locator('[data-component="explorer"][data-ready="true"]').wait_for()
    page.evaluate(PATIENT)
    page.evaluate(WATCH)
    page.get_by_test_id("stMain").get_by_text("Matrix", exact=True).click()
    page.locator('[data-component="matrix"][data-ready="true"]').first.wait_for()
    expect(page.locator(COPY)).to_have_count(0)
    assert "nothing" not in page.evaluate("window.seen")


def test_the_copy_of_a_page_goes_when_a_page_without_an_image_has_come(open_page: OpenPage) -> None:
    page = open_page("positions?model=preset:vit_digits&image=digits:3")
    page.locator('[data-component="similarity_view"][data-ready="true"]').wait_for()
    go(page, "lessons")
    expect(page.locator(COPY)).to_have_count(0)
    expect(page.get_by_role("heading", name="Lessons")).to_be_visible()

"""Check the frame of all views: one drawing per view in any order of calls and cleanups."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from vitviz.plots.blob import name_files, pack

pytestmark = pytest.mark.browser
VIEW = """import { el } from '../../vitviz/browser/kit/dom.js';
export default function told({ root }) {
  const said = el(root, 'p', { class: 'said' });
  return (message) => { said.textContent = message.header.text; };
}"""
OTHER = VIEW.replace("'said'", "'other'")
OPEN = """async (payloads) => {
  const mount = (await import('/pages/views/base.js')).default, parentElement = document.querySelector('#place');
  window.calls = payloads.map((bytes) => {
    const data = new Uint8Array(bytes);
    return () => mount({ parentElement, data, setStateValue() {}, setTriggerValue() {} });
  });
}"""


def message(text: str, view: str = "said") -> list[int]:
    """A message of a view that this test makes up, as bytes for the browser."""
    files = name_files([f"pages/views/{view}.js", "vitviz/browser/base.css"])
    return list(files + pack({"text": text}))


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """A page on which `calls[i]()` shows message i and returns its cleanup; the last is another view's."""
    fresh = browser.new_page()
    fresh.route("**/views/said.js", lambda route: route.fulfill(body=VIEW, content_type="text/javascript"))
    fresh.route("**/views/that.js", lambda route: route.fulfill(body=OTHER, content_type="text/javascript"))
    fresh.route(
        f"{site}/", lambda route: route.fulfill(body="<div id=place></div>", content_type="text/html")
    )
    fresh.goto(f"{site}/")
    fresh.evaluate(OPEN, [message("first"), message("second"), message("third", "that")])
    yield fresh
    fresh.close()


def settled(page: Page) -> Page:
    """After every timer of no delay has run."""
    page.evaluate("new Promise((done) => setTimeout(done, 50))")
    return page


def test_a_view_is_drawn_with_its_styles_and_no_html_but_its_own(page: Page) -> None:
    page.evaluate("window.end = calls[0]()")
    expect(page.locator("#place > .vv[data-component=said][data-ready=true] .said")).to_have_text("first")
    assert (
        page.evaluate("document.adoptedStyleSheets.length") == 1
    )  # base.css, fetched once though named twice


def test_news_while_a_views_module_is_still_loading_are_what_it_draws(page: Page) -> None:
    page.evaluate("{ calls[0](); calls[1](); null; }")
    expect(page.locator(".said")).to_have_text("second")
    expect(settled(page).locator(".said")).to_have_count(1)


def test_a_view_whose_place_goes_while_its_module_is_loading_is_never_made(page: Page) -> None:
    page.evaluate(
        "{ const end = calls[0](); window.place = document.querySelector('#place'); place.remove(); end(); }"
    )
    page.evaluate("import('/pages/views/said.js')")
    assert settled(page).evaluate("place.querySelector('.said')") is None


def test_another_view_in_the_same_place_ends_the_one_that_was_there(page: Page) -> None:
    page.evaluate("window.end = calls[0]()")
    expect(page.locator(".said")).to_have_text("first")
    page.evaluate("window.end = calls[2]()")
    expect(page.locator(".vv[data-component=that] .other")).to_have_text("third")
    expect(page.locator(".said")).to_have_count(0)


def test_code_that_does_not_arrive_is_reported_in_a_sentence(page: Page) -> None:
    page.route("**/views/said.js", lambda route: route.abort())
    page.evaluate("window.end = calls[0]()")
    expect(page.get_by_role("alert")).to_contain_text("could not be loaded")


def test_a_cleanup_that_comes_after_newer_news_takes_nothing_away(page: Page) -> None:
    """Both calls waited for the module: Streamlit then cleans up the first after the second has drawn."""
    page.evaluate("{ const first = calls[0](); window.second = calls[1](); first(); null; }")
    expect(settled(page).locator(".said")).to_have_text("second")
    page.evaluate("{ window.place = document.querySelector('#place'); place.remove(); second(); }")
    settled(page)
    assert page.evaluate("place.querySelector('.said')") is None


def test_a_view_whose_html_is_set_again_takes_its_place_again(page: Page) -> None:
    page.evaluate("{ calls[1](); null; }")
    expect(page.locator(".said")).to_have_text("second")
    page.evaluate("document.querySelector('#place').innerHTML = '<div class=vv></div>'")
    expect(settled(page).locator("#place .vv")).to_have_count(1)
    expect(page.locator(".said")).to_have_text("second")


def test_a_cleanup_before_newer_news_keeps_the_view(page: Page) -> None:
    page.evaluate("window.first = calls[0]()")
    page.locator(".said").evaluate("(node) => { node.dataset.mark = 'kept'; }")
    page.evaluate("{ first(); calls[1](); null; }")  # the value of a last call would be called
    expect(settled(page).locator(".said[data-mark=kept]")).to_have_text("second")

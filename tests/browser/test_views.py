"""What every client view shares: it is drawn once, whatever the order of Streamlit's calls and cleanups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import pages.views.register as components
from vitviz.plots.blob import pack

pytestmark = pytest.mark.browser
VIEW = """export default view(({ root }) => {
  const said = el(root, 'p', { class: 'said' });
  return (message) => { said.textContent = message.header.text; };
});"""
OPEN = """async ([script, payloads]) => {
  const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  const view = (await import(url)).default, parentElement = document.querySelector('#place');
  window.calls = payloads.map((bytes) =>
    () => view({ parentElement, data: new Uint8Array(bytes), setStateValue() {}, setTriggerValue() {} }));
}"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page on which `calls[i]()` shows message i and returns its cleanup."""
    base = (Path(components.__file__).parent / "base.js").read_text("utf-8")
    fresh = browser.new_page()
    fresh.set_content('<div id="place"><div class="vv"></div></div>')
    payloads = [list(pack({"text": text})) for text in ("first", "second")]
    fresh.evaluate(OPEN, [components._palette() + base + VIEW, payloads])
    yield fresh
    fresh.close()


def settled(page: Page) -> Page:
    """After every timer of no delay has run."""
    page.evaluate("new Promise((done) => setTimeout(done, 50))")
    return page


def test_a_cleanup_that_comes_after_newer_news_takes_nothing_away(page: Page) -> None:
    """Both calls waited for the module: Streamlit then cleans up the first after the second has drawn."""
    page.evaluate("{ const first = calls[0](); window.second = calls[1](); first(); null; }")
    expect(settled(page).locator(".said")).to_have_text("second")
    page.evaluate("{ window.place = document.querySelector('#place'); place.remove(); second(); }")
    settled(page)
    assert page.evaluate("place.querySelector('.said')") is None


def test_a_view_whose_html_is_set_again_takes_its_place_again(page: Page) -> None:
    page.evaluate("{ calls[1](); document.querySelector('#place').innerHTML = '<div class=vv></div>'; }")
    expect(settled(page).locator("#place .vv")).to_have_count(1)
    expect(page.locator(".said")).to_have_text("second")


def test_a_cleanup_before_newer_news_keeps_the_view(page: Page) -> None:
    page.evaluate("window.first = calls[0](); document.querySelector('.said').dataset.mark = 'kept'")
    page.evaluate("{ first(); calls[1](); null; }")  # the value of a last call would be called
    expect(settled(page).locator(".said[data-mark=kept]")).to_have_text("second")

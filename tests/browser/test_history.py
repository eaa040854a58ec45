"""One entry of the browser's history a page, in whichever order Streamlit pushes a page's name and its query."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
ACT = "act"  # the user presses a key; any other step is an address that Streamlit pushes
STEPS = """async (steps) => {
  (await import('/pages/views/browser_history.js')).oneEntryAPage();
  for (const step of steps) {
    if (step === 'act') window.dispatchEvent(new KeyboardEvent('keydown'));
    else history.pushState({}, '', step);
  }
}"""


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """An empty page at `site`, whatever the address is."""
    fresh = browser.new_page()
    fresh.route(
        lambda url: not url.endswith(".js"), lambda route: route.fulfill(body="", content_type="text/html")
    )
    yield fresh
    fresh.close()


@pytest.mark.parametrize(
    ("start", "steps", "entries"),
    [
        ("/a", ["/a?x=1"], ["/a?x=1"]),  # the bare address, then the full one
        ("/a?x=1", ["/a?x=1&y=2"], ["/a?x=1&y=2"]),  # a link says only part of it
        ("/a?x=1", [ACT, "/a?x=2"], ["/a?x=1", "/a?x=2"]),  # what the user chose
        ("/a?x=1", [ACT, "/b", "/b?y=1"], ["/a?x=1", "/b?y=1"]),  # the name, then the query
        ("/a?x=1", [ACT, "/a?y=1", "/b?y=1"], ["/a?x=1", "/b?y=1"]),  # the query, then the name
        ("/a?x=1", [ACT, "/b", ACT, "/b?y=1"], ["/a?x=1", "/b?y=1"]),  # clicked before the page was complete
        ("/a?x=1", [ACT, "/b?x=1"], ["/a?x=1", "/b?x=1"]),  # two pages that say the same
        (  # a study opened from the gallery: its link, then its full address
            "/a?x=1",
            [ACT, "/a?studies.study=b", "/a?studies.study=b&y=1"],
            ["/a?x=1", "/a?studies.study=b&y=1"],
        ),
        ("/a?x=1", [ACT, "/a?x=2", ACT, "/b?x=2"], ["/a?x=1", "/a?x=2", "/b?x=2"]),  # chosen, then left
    ],
)
def test_one_entry_a_page(page: Page, site: str, start: str, steps: list[str], entries: list[str]) -> None:
    page.goto(f"{site}{start}")
    before = page.evaluate("() => history.length")
    page.evaluate(STEPS, steps)
    assert page.evaluate("() => history.length") - before == len(entries) - 1
    found = [page.url]
    for _ in entries[1:]:
        page.go_back()
        found.insert(0, page.url)
    assert found == [f"{site}{entry}" for entry in entries]


@pytest.mark.parametrize("pushed", [["/b", "/b?b.y=1"], ["/a?b.y=1", "/b?b.y=1"]])
def test_back_passes_what_was_pushed_before_the_code_had_come(
    page: Page, site: str, pushed: list[str]
) -> None:
    page.goto(f"{site}/a?a.x=1")
    page.evaluate("(pushed) => pushed.forEach((url) => history.pushState({}, '', url))", pushed)
    page.evaluate(STEPS, [])
    page.evaluate("history.back()")
    page.wait_for_url(f"{site}/a?a.x=1")


def test_the_address_of_the_page_that_back_left_is_dropped_when_it_comes_late(page: Page, site: str) -> None:
    page.goto(f"{site}/a?a.x=1")
    page.evaluate(STEPS, [ACT, "/b?b.y=1"])
    page.evaluate("history.back()")
    page.wait_for_url(f"{site}/a?a.x=1")
    page.evaluate(STEPS, ["/a?b.y=2", "/a?a.x=1&a.z=2"])
    assert page.url == f"{site}/a?a.x=1&a.z=2"
    page.evaluate(STEPS, ["/a?b.y=3"])
    assert page.url == f"{site}/a?a.x=1&a.z=2"
    page.evaluate(STEPS, [ACT, "/a?b.y=4", "/b?b.y=4"])
    assert page.url == f"{site}/b?b.y=4", "a link's page may come after its query"


@pytest.mark.parametrize("steps", [[ACT, "/b", "/b?b.y=1"], [ACT, "/a?b.y=1", "/b?b.y=1"]])
def test_another_page_begins_at_its_top(page: Page, site: str, steps: list[str]) -> None:
    page.goto(f"{site}/a?a.x=1")
    page.evaluate(STEPS, [])
    page.evaluate("""() => {
      document.body.innerHTML = '<div data-testid="stMain" style="height: 100px; overflow: auto">'
        + '<div style="height: 900px"></div></div>';
      document.body.firstChild.scrollTo(0, 700);
    }""")
    top = "() => document.querySelector('[data-testid=stMain]').scrollTop"
    page.evaluate(STEPS, [ACT, "/a?a.x=2"])
    assert page.evaluate(top) == 700, "a control keeps its place"
    page.evaluate(STEPS, steps)
    assert page.evaluate(top) == 0


def test_a_pin_at_the_edge_of_an_image_has_a_whole_frame(page: Page, site: str) -> None:
    page.goto(f"{site}/a")
    edges = page.evaluate("""async () => {
      const { ring } = await import('/pages/start/map_overlay.js');
      const ctx = Object.assign(document.createElement('canvas'), { width: 40, height: 40 }).getContext('2d');
      ring(ctx, [0, 0, 40, 40]);
      const dark = ([r, , , alpha]) => alpha === 255 && r < 128; // of the inner, dark frame
      return [[1, 20], [38, 20], [20, 1], [20, 38]].map(([x, y]) => dark(ctx.getImageData(x, y, 1, 1).data));
    }""")
    assert edges == [True] * 4

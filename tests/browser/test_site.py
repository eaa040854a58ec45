"""The site in a browser: Start follows the pen from a folder and below any path, and its pages are for everyone."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import vitviz
from pages.frame.static_site import PAGES, write_site
from tests.browser.test_axe import found
from tests.browser.test_live_page import draw_strokes
from vitviz.data import drawings

pytestmark = pytest.mark.browser


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("host") / "any" / "path"
    assert len([*write_site(folder)]) > len(PAGES)
    return folder


@pytest.fixture(scope="module", params=["file", "http"])
def address(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    """The folder's address, as a file and below a path of a server."""
    if request.param == "file":
        yield site.as_uri()
        return
    files = functools.partial(_Files, directory=str(site.parents[1]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/any/path"
    server.shutdown()
    server.server_close()


def open_page(page: Page, address: str, name: str) -> list[str]:
    """Open a page; return the list of its errors and of requests beyond the folder."""
    wrong: list[str] = []
    inside = (address, "blob:", "data:")
    page.on("request", lambda one: None if one.url.startswith(inside) else wrong.append(one.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda one: wrong.append(one.text) if one.type == "error" else None)
    page.goto(f"{address}/{name}.html")
    expect(page.locator("section > div > .vv[data-ready=true]").first).to_be_visible()
    return wrong


def test_start_follows_the_pen_and_predicts_as_python(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    wrong = open_page(page, address, "index")
    page.get_by_role("button", name="Clear").click()
    strokes = draw_strokes(page, "main .vv[data-component=map]", "data-live")
    name, share = vitviz.inspect("mnist_vit", drawings.draw_strokes(strokes)).prediction[0]
    summary = page.locator(".mp-summary")
    expect(summary).to_contain_text(f"Prediction: {name} ({100 * share:.1f}\N{NO-BREAK SPACE}%)")
    assert wrong == []
    page.close()


def test_a_step_is_loaded_when_the_slider_reaches_it(browser: Browser, address: str) -> None:
    page = browser.new_page()
    loaded: list[str] = []
    page.on("request", lambda one: loaded.append(one.url) if "/weights/" in one.url else None)
    wrong = open_page(page, address, "attention")
    view = page.locator("main .vv[data-component=explorer_live]")
    expect(view).to_have_attribute("data-started", "true")
    assert len(loaded) <= 1
    page.get_by_label("Training step").fill("0")
    expect(view).to_have_attribute("data-step", "0")
    assert len(loaded) == 2
    assert wrong == []
    page.close()


@pytest.mark.parametrize("name", ["index", *(page.slug for page in PAGES[1:])])
def test_every_page_is_for_everyone(browser: Browser, site: Path, name: str) -> None:
    for scheme, width in (("light", 390), ("dark", 1280)):
        page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)  # type: ignore[arg-type]
        wrong = open_page(page, site.as_uri(), name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert found(page) == [] and wrong == []
        page.close()

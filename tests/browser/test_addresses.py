"""The views' code comes by address: under a base path, with the deployment's CSP, and never in a message."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from pages.stores import registry
from pages.streamlit_fixes.required.view_files import COMPONENT, hash_files
from tests.browser.conftest import (
    ROOT,
    format_message,
    free_port,
    is_problem,
    serving,
    settle,
    stop_server,
)
from tests.proxy import needs_haproxy, start_proxy

pytestmark = [pytest.mark.browser, needs_haproxy, pytest.mark.timeout(600)]
BASE = "/lectures/vit"
MAX_DEFERRED_MS = 500  # a page has settled: images and icons that come after it
# Icons are not loaded without a window, so their addresses are noted instead.
NOTE_ICONS = """window.icons = [];
new MutationObserver(() => {
  for (const icon of document.querySelectorAll('link[rel~=icon]'))
    if (icon.href && !icons.includes(icon.href)) icons.push(icon.href);
}).observe(document, { childList: true, subtree: true, attributes: true });"""
LOAD_IMAGES = """async () => {
  const images = [...document.images];
  for (const image of images) image.loading = 'eager';
  await Promise.allSettled(images.map((image) => image.decode()));
  return images.filter((image) => !image.naturalWidth).map((image) => image.src);
}"""


@pytest.fixture(scope="module")
def under_a_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server below a path of its own, behind the operator's proxy."""
    folder, proxy_port = tmp_path_factory.mktemp("base"), free_port()
    with serving(folder, f"{BASE}/_stcore/health", STREAMLIT_SERVER_BASE_URL_PATH=BASE) as (port, _):
        proxy = start_proxy(proxy_port, port, port, folder / "proxy.log", BASE)
        yield f"http://127.0.0.1:{proxy_port}{BASE}"
        stop_server(proxy)


class Watched:
    """A page whose requests, console and icons are noted where they are foreign, fail or violate the policy."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.problems = page, list[str]()
        self._own = (address + "/", address.replace("http:", "ws:") + "/", "data:", "blob:")
        self._own_start = address.rpartition(BASE)[0] + BASE
        page.add_init_script(NOTE_ICONS)
        page.on("request", lambda request: self._check(request.url))
        page.on("websocket", lambda socket: self._check(socket.url))
        page.on("requestfailed", self._note_failure)
        page.on("response", lambda one: self.note(f"{one.status}: {one.url}") if one.status >= 400 else None)
        page.on(
            "console", lambda message: self.note(format_message(message)) if is_problem(message) else None
        )
        page.on("pageerror", lambda error: self.note(f"exception: {error}"))

    def note(self, problem: str) -> None:
        self.problems.append(f"{self.page.url}: {problem}")

    def _note_failure(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the page was left before a file had come
            self.note(f"{request.failure}: {request.url}")

    def _check(self, url: str) -> None:
        if url.partition("?")[0] != self._own_start and not url.startswith(self._own):
            self.note(f"not below the base path: {url}")

    def finish(self) -> None:
        """Wait for what comes late, and check the icons and images of the page."""
        for image in self.page.evaluate(LOAD_IMAGES):
            self.note(f"an image that is not drawn: {image}")
        self.page.wait_for_timeout(MAX_DEFERRED_MS)
        for icon in self.page.evaluate("icons"):
            self._check(icon)


@pytest.mark.slow  # opens every page twice
def test_every_page_asks_for_the_app_s_own_files_alone_and_gets_them(
    browser: Browser, under_a_path: str
) -> None:
    """With and without a slash, under a base path and the proxy's policy: no foreign and no failed request."""
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    watched = Watched(page, under_a_path)
    addresses = {under_a_path: registry.BY_SLUG["home"]}
    # With a slash a page's address redirects to that without, so the browser opens both.
    addresses |= {
        f"{under_a_path}/{'' if entry.slug == 'home' else f'{entry.slug}/'}": entry
        for entry in registry.PAGES
    }
    for address, entry in addresses.items():
        page.goto(address)
        settle(page)
        expect(page.locator("head meta[name=description]")).to_have_attribute("content", entry.question)
        watched.finish()
    page.locator('[data-testid="stLogoLink"], [data-testid="stHeaderLogo"]').first.click()
    page.wait_for_url(f"{under_a_path}/?*")
    settle(page)
    watched.finish()
    context.close()
    assert watched.problems == []


@pytest.mark.slow
def test_a_view_is_fetched_by_an_address_that_holds_its_contents_hash(
    browser: Browser, under_a_path: str
) -> None:
    """Every file once, below the base path; the browser refuses what the proxy's policy does not allow."""
    before = {path for path in ROOT.joinpath("static").rglob("*")}
    page = browser.new_page()
    fetched: list[tuple[int, str]] = []
    refused: list[str] = []
    page.on("response", lambda one: fetched.append((one.status, one.url)) if COMPONENT in one.url else None)
    page.on("console", lambda one: refused.append(one.text) if "bidi-components" in one.text else None)

    page.goto(f"{under_a_path}/attention")
    expect(page.locator(".vv[data-component=explorer][data-ready=true]").first).to_be_visible(timeout=60_000)
    page.close()
    root = f"{under_a_path}/_stcore/bidi-components/{COMPONENT}/"
    assert fetched and all(status == 200 and url.startswith(root) for status, url in fetched)
    assert len({url for _, url in fetched}) == len(fetched)
    assert {"base.js", "explorer.js", "explorer.css", "bus.js"} <= {
        url.rpartition("/")[2] for _, url in fetched
    }
    for file in (
        "README.md",
        "pages/views/register.py",
        "pages/../app.py",
        ".streamlit/config.toml",
        "tests/x.js",
    ):
        with pytest.raises(HTTPError) as refusal:
            urlopen(root + file)
        refusal.value.close()
        assert refusal.value.code in (400, 404), file
    assert refused == []
    assert {path for path in ROOT.joinpath("static").rglob("*")} == before  # a checkout may be read-only


def test_the_address_changes_with_any_file_and_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "lens").mkdir()
    view = tmp_path / "lens" / "view.js"
    seen = set()
    for text in ("one", "two", "one"):
        view.write_text(text)
        seen.add(hash_files(tmp_path))
    view.rename(tmp_path / "lens" / "other.js")
    seen.add(hash_files(tmp_path))
    (tmp_path / "page.py").write_text("no code of a view")
    assert len(seen) == 3 and hash_files(tmp_path) in seen

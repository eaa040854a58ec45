"""The views' code comes by address: under a base path, with the deployment's CSP, and never in a message."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, expect

from pages.views.register import COMPONENT, hash_files
from tests.browser.conftest import ROOT, free_port, start_server, stop_server

pytestmark = pytest.mark.browser
CSP = "; ".join(
    (
        "script-src 'self' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self' ws: wss:",
    )
)
POLICY = """new MutationObserver((_, watch) => {
  if (!document.head) return;
  const policy = document.createElement('meta');
  policy.httpEquiv = 'Content-Security-Policy';
  policy.content = "CSP";
  document.head.prepend(policy);
  watch.disconnect();
}).observe(document, { childList: true, subtree: true });"""
BASE = "lectures/vit"


@pytest.fixture(scope="module")
def under_a_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server below a path of its own, as behind a proxy that serves more than this app."""
    log = tmp_path_factory.mktemp("base") / "server.log"
    port = free_port()
    runs = {"VITVIZ_RUNS": str(log.parent / "runs"), "STREAMLIT_SERVER_BASE_URL_PATH": BASE}
    server = start_server("app.py", port, log, runs, health=f"/{BASE}/_stcore/health")
    yield f"http://127.0.0.1:{port}/{BASE}"
    stop_server(server)


def test_a_view_is_fetched_by_an_address_that_holds_its_contents_hash(
    browser: Browser, under_a_path: str
) -> None:
    """Every file once, below the base path; the browser refuses what the policy does not allow."""
    before = {path for path in ROOT.joinpath("static").rglob("*")}
    page = browser.new_page()
    fetched: list[tuple[int, str]] = []
    refused: list[str] = []
    page.on("response", lambda one: fetched.append((one.status, one.url)) if COMPONENT in one.url else None)
    page.on("console", lambda one: refused.append(one.text) if "bidi-components" in one.text else None)

    page.add_init_script(POLICY.replace("CSP", CSP))
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

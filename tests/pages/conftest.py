"""Opens the app as a visitor does: through app.py, with the query parameters of a link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.shell import registry
from pages.stores.visit import Visit

ROOT = Path(__file__).parents[2]
OpenApp = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def no_shipped_checkpoints(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Pages are tested on presets, so that a test does not depend on what was trained; the folder can be filled."""
    from pages.stores import catalogue

    folder = tmp_path / "checkpoints"
    folder.mkdir()
    monkeypatch.setattr(catalogue, "CHECKPOINTS", folder)
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path / "runs"))
    yield folder


@pytest.fixture(autouse=True, scope="session")
def no_search_for_components() -> Iterator[None]:
    """For every run of an AppTest Streamlit reads all installed packages' metadata: three quarters of its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", lambda: [])
        yield


@pytest.fixture(autouse=True)
def no_background_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warm-up belongs to a server, not to a test."""
    from pages.shell import warm

    monkeypatch.setattr(warm, "begin", lambda: None)


@pytest.fixture(autouse=True)
def undotted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences are compared as they are read: where words are dotted, test_words.py says."""
    from pages.shell import terms

    if request.module.__name__.rpartition(".")[2] != "test_words":
        monkeypatch.setattr(terms, "_dotted", lambda said, term: said)


@pytest.fixture
def open_app() -> OpenApp:
    """`open_app("pages/inside/patches/page.py", model="preset:vit_digits")`: the page as that link shows it."""

    def open_page(page: str | None = None, **query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        if page is not None:
            # `switch_page` would guess the address from the file's name before the app has run once.
            slug = next(entry.slug for entry in registry.PAGES if entry.path == page)
            app._page_hash = calc_hash(slug)
        for key, value in query.items():
            app.query_params[key.replace("__", ".")] = value
        app.run()
        assert not app.exception, [error.message for error in app.exception]
        return app

    return open_page


def said(app: AppTest, key: str) -> str:
    """What the address says of a key."""
    value: Any = app.query_params[key]
    return str(value[0] if isinstance(value, list) else value)


def opened_again(app: AppTest, visit: Visit, **changes: str) -> AppTest:
    """The same address in a new session of a visit: a reload, or somebody else's."""
    again = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    again._page_hash = app._page_hash
    again.session_state["_visit"] = visit
    for key in app.query_params:
        again.query_params[key] = said(app, key)
    for key, value in changes.items():
        again.query_params[key.replace("__", ".")] = value
    again.run()
    assert not again.exception, [error.message for error in again.exception]
    return again

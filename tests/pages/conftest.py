"""Opens the app as a visitor does: through app.py, with the query parameters of a link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]
OpenApp = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def no_shipped_checkpoints(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Pages are tested on presets, so that a test does not depend on what was trained; the folder can be filled."""
    from pages._shared import catalogue

    folder = tmp_path / "checkpoints"
    folder.mkdir()
    monkeypatch.setattr(catalogue, "CHECKPOINTS", folder)
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path / "runs"))
    yield folder


@pytest.fixture(autouse=True)
def no_background_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warm-up belongs to a server, not to a test."""
    from pages._shared import warm

    monkeypatch.setattr(warm, "begin", lambda: None)


@pytest.fixture
def open_app() -> OpenApp:
    """`open_app("pages/inside/patches.py", model="preset:vit_digits")`: the page as that link shows it."""

    def open_page(page: str | None = None, **query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        if page is not None:
            app.switch_page(page)
        for key, value in query.items():
            app.query_params[key.replace("__", ".")] = value
        app.run()
        assert not app.exception, [error.message for error in app.exception]
        return app

    return open_page

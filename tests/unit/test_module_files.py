"""The browser's modules are sent by the middleware, byte for byte and compressed; all other requests reach the app."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from pages.streamlit_fixes.optional import module_files
from pages.streamlit_fixes.required import view_files

OURS = f"/_stcore/bidi-components/{view_files.COMPONENT}/pages/views/base.js"
THEIRS = f"/static/js/{next(module_files._STREAMLIT.glob('js/index.*.js')).name}"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(module_files, "_compressed", {})
    app = Starlette(
        routes=[Route("/{rest:path}", lambda request: PlainTextResponse("the app"), methods=["GET", "POST"])],
        middleware=[Middleware(module_files.SendFiles)],
    )
    with TestClient(app) as client:
        yield client


@pytest.mark.parametrize("address", [OURS, THEIRS])
def test_a_module_is_the_same_compressed_or_not(client: TestClient, address: str) -> None:
    file = module_files._list_files()[address]
    plain = client.get(address, headers={"Accept-Encoding": "identity"})
    assert plain.content == file.read_bytes()
    assert "Content-Encoding" not in plain.headers
    module_files._compressed[file] = gzip.compress(file.read_bytes())
    small = client.get(address, headers={"Accept-Encoding": "gzip, br"})
    assert small.content == plain.content
    assert small.headers["Content-Encoding"] == "gzip"
    assert int(small.headers["Content-Length"]) < len(plain.content) / 1.5
    assert client.get(address, headers={"Accept-Encoding": "br"}).headers.get("Content-Encoding") is None
    for answer in (plain, small):
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["Vary"] == "Accept-Encoding"
        assert "javascript" in answer.headers["Content-Type"]


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/attention",
        OURS.replace("base.js", "register.py"),
        OURS.replace("views/base.js", "views/../../README.md"),
        OURS.replace("base.js", "%2e%2e/%2e%2e/app.py"),
        THEIRS + "/",
        THEIRS.replace("/js/", "/js/../../"),
    ],
)
def test_what_is_no_module_reaches_the_app(client: TestClient, address: str) -> None:
    assert client.get(address).text == "the app"


def test_a_browser_keeps_weights_which_lie_under_a_hash(client: TestClient) -> None:
    assert "immutable" in client.get("/media/0a1b.gz").headers["Cache-Control"]
    assert client.get("/media/0a1b.gz").headers["Cache-Control"].startswith("private")
    assert "Cache-Control" not in client.get("/media/0a1b.png").headers


@pytest.mark.parametrize("header", ["Range", "If-None-Match", "If-Modified-Since"])
def test_a_part_or_a_condition_reaches_the_app(client: TestClient, header: str) -> None:
    assert client.get(OURS, headers={header: "x"}).text == "the app"
    assert client.post(OURS).text == "the app"

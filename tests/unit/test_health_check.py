"""Test that the health check reports a server as ready only once it is warm, except to browsers."""

from __future__ import annotations

import threading

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from pages.frame import health_check, warm_up

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """Return a client of an app below a base path, whose server is not warm yet."""
    monkeypatch.setattr(warm_up, "READY", threading.Event())
    monkeypatch.setattr(warm_up, "is_wanted", lambda: True)
    app = Starlette(
        routes=[Route(path, lambda _: PlainTextResponse("ok")) for path in ("/vit/_stcore/health", "/vit/")]
    )
    return TestClient(health_check.CheckHealth(app))


def test_a_proxy_waits_until_the_server_is_warm(client: TestClient) -> None:
    answer = client.get("/vit/_stcore/health")
    assert (answer.status_code, answer.text) == (503, "the server is warming up")
    warm_up.READY.set()
    assert client.get("/vit/_stcore/health").status_code == 200


def test_a_browser_is_answered_at_once(client: TestClient) -> None:
    assert client.get("/vit/_stcore/health", headers={"User-Agent": FIREFOX}).status_code == 200
    assert client.get("/vit/").status_code == 200


def test_a_server_without_a_warm_up_is_ready_at_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_up, "is_wanted", lambda: False)
    assert client.get("/vit/_stcore/health").status_code == 200


def test_a_server_that_can_open_no_session_is_not_ready(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError(24, "Too many open files")

    warm_up.READY.set()
    monkeypatch.setattr(health_check.asyncio, "new_event_loop", fail)
    answer = health_check._explain_unready("curl/8")
    assert answer == "no session can be opened: [Errno 24] Too many open files"


def test_requests_take_precedence_over_the_warm_up_but_health_checks_do_not(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[str] = []
    monkeypatch.setattr(warm_up.PRECEDENCE, "note_request", lambda: requests.append("request"))
    client.get("/vit/_stcore/health")
    assert not requests
    client.get("/vit/")
    assert requests == ["request"]

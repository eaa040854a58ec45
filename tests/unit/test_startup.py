"""Test that a server opens its first page before it accepts connections, and starts if that fails."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import streamlit as st

from pages.frame import startup, warm_up


def list_events(
    monkeypatch: pytest.MonkeyPatch, open_first_page: Callable[[threading.Event], object]
) -> list[str]:
    """Return what happens when a server starts, in order; `open_first_page` can wait until it listens."""
    events: list[str] = []
    is_listening = threading.Event()

    def open_page() -> None:
        events.append("first page")
        open_first_page(is_listening)

    async def live() -> None:
        async with startup.lifespan(st.App("app.py")):
            events.append("listening")
            is_listening.set()

    monkeypatch.setattr(warm_up, "open_first_page", open_page)
    monkeypatch.setattr(startup.log_limits, "install", lambda: None)  # it outlives the test
    monkeypatch.setattr(startup, "start_background_thread", lambda: events.append("background thread"))
    with ThreadPoolExecutor(1) as pool:  # a browser test may have left this thread with an event loop
        pool.submit(asyncio.run, live()).result()
    return events


def test_the_first_page_is_opened_before_the_server_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list_events(monkeypatch, lambda _: None) == ["first page", "background thread", "listening"]


def test_a_server_starts_although_its_first_page_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: threading.Event) -> None:
        raise OSError("the disk is missing")

    assert list_events(monkeypatch, fail) == ["first page", "background thread", "listening"]
    assert "could not be opened in advance" in caplog.text


def test_a_server_starts_although_its_first_page_takes_too_long(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(startup, "_FIRST_PAGE_TIMEOUT_S", 0.01)
    events = list_events(monkeypatch, lambda is_listening: is_listening.wait(60))
    assert events == ["first page", "background thread", "listening"]
    assert "could not be opened in advance" in caplog.text


def test_a_step_that_fails_keeps_the_thread_from_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    class Ended(BaseException):
        pass

    def fail() -> None:
        raise ValueError("the setting is invalid")

    def end() -> None:
        done.append("removed")
        raise Ended

    monkeypatch.setattr(warm_up, "run", fail)
    monkeypatch.setattr(startup.leaderboard, "resume_interrupted", fail)
    monkeypatch.setattr(startup.runs, "take_up_queued", fail)
    monkeypatch.setattr(startup, "remove_expired", end)
    monkeypatch.setattr(startup, "_PERIOD_S", 0.0)
    with pytest.raises(Ended):
        startup._work()
    assert done == ["removed"]
    assert "could not be warmed up" in caplog.text and "could not be queued" in caplog.text

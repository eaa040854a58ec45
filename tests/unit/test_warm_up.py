"""A server's life: it looks at its first page itself, and lets visitors in whatever comes of that."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import streamlit as st

from pages.frame import startup


def lived(monkeypatch: pytest.MonkeyPatch, first_look: Callable[[], None]) -> list[str]:
    """What happens in a server's life, in order."""
    happened: list[str] = []

    def look() -> None:
        happened.append("look")
        first_look()

    async def live() -> None:
        async with startup.lifespan(st.App("app.py")):
            happened.append("open")

    monkeypatch.setattr(startup, "open_first_page", look)
    monkeypatch.setattr(startup.log_limits, "install", lambda: None)  # it outlives the test
    monkeypatch.setattr(startup, "start_warm_up", lambda: happened.append("begin"))
    with ThreadPoolExecutor(1) as apart:  # a browser's test may have left this thread with a loop of its own
        apart.submit(asyncio.run, live()).result()
    return happened


def test_it_looks_before_it_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lived(monkeypatch, lambda: None) == ["look", "begin", "open"]


def test_a_page_that_fails_keeps_nobody_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise OSError("the disk is gone")

    assert lived(monkeypatch, fail) == ["look", "begin", "open"]
    assert "could not be opened in advance" in caplog.text


def test_nor_does_one_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(startup, "_FIRST_PAGE_TIMEOUT_S", 0.01)
    assert lived(monkeypatch, lambda: time.sleep(0.2)) == ["look", "begin", "open"]
    assert "could not be opened in advance" in caplog.text

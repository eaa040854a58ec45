"""Test the order of the warm-up, that it lets users go first, and that it stops waiting for a busy server's users."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
from collections.abc import Callable

import pytest

from pages.frame import warm_up
from pages.frame.warm_up import MAX_YIELD_S, QUIET_S, Precedence


class Clock:
    """A clock that only `sleep` moves, which calls `meanwhile` with the time."""

    def __init__(self, meanwhile: Callable[[float], None] = lambda now_s: None) -> None:
        self.now_s = 0.0
        self._meanwhile = meanwhile

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self._meanwhile(self.now_s)


def test_the_warm_up_waits_until_a_page_run_has_ended() -> None:
    clock = Clock()
    precedence = Precedence(lambda: clock.now_s < 2.0, clock, clock.sleep)
    precedence.wait()
    assert clock.now_s == pytest.approx(2.0, abs=0.1)
    precedence.wait()
    assert clock.now_s == pytest.approx(2.0, abs=0.1)


def test_the_warm_up_waits_while_a_browser_requests_files() -> None:
    def request(now_s: float) -> None:
        if now_s < 1.0:
            precedence.note_request()

    clock = Clock(request)
    precedence = Precedence(lambda: False, clock, clock.sleep)
    precedence.wait()
    assert clock.now_s == pytest.approx(1.0 + QUIET_S, abs=0.1)


def test_the_warm_up_of_a_busy_server_goes_on() -> None:
    clock = Clock()
    precedence = Precedence(lambda: True, clock, clock.sleep)
    for _ in range(5):
        precedence.wait()
    assert clock.now_s == pytest.approx(MAX_YIELD_S, abs=0.1)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list that `warm_up.run` writes its steps to; nothing is imported or opened."""
    steps: list[str] = []

    def note(step: str) -> Callable[[], None]:
        return lambda: steps.append(f"{step}{' after ready' if warm_up.READY.is_set() else ''}")

    monkeypatch.setattr(warm_up, "READY", threading.Event())
    monkeypatch.setattr(warm_up, "PRECEDENCE", Precedence(lambda: False, sleep=lambda _: None))
    monkeypatch.setattr(warm_up, "QUIET_S", 0.0)
    monkeypatch.setattr(warm_up, "is_wanted", lambda: True)
    monkeypatch.setattr(warm_up, "_warm_files", note("files"))
    monkeypatch.setattr(warm_up, "_import_libraries", note("libraries"))
    monkeypatch.setattr(warm_up, "warm_first_map", note("map"))
    monkeypatch.setattr(warm_up, "open_all_pages", note("pages"))
    monkeypatch.setattr(gc, "freeze", note("freeze"))
    return steps


def test_the_server_is_ready_after_all_pages_were_opened_and_the_heap_is_frozen(steps: list[str]) -> None:
    warm_up.run()
    assert sorted(steps) == ["files", "freeze", "libraries", "map", "pages"]
    assert steps[-1] == "freeze" and warm_up.READY.is_set()


def test_the_server_gets_ready_although_a_page_fails(
    steps: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise OSError("the disk is missing")

    monkeypatch.setattr(warm_up, "open_all_pages", fail)
    warm_up.run()
    assert warm_up.READY.is_set() and "could not be opened in advance" in caplog.text


def test_the_health_check_does_not_wait_for_ever_for_a_warm_up_that_ended(
    steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(RuntimeError, match="can't start"):
        warm_up.run()
    assert steps == [] and warm_up.READY.is_set()


def test_imports_wait_for_users_between_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[str] = []

    class CountedPrecedence(Precedence):
        def wait(self) -> None:
            waits.append(threading.current_thread().name)

    monkeypatch.setattr(warm_up, "PRECEDENCE", CountedPrecedence(lambda: False))
    monkeypatch.setattr(warm_up, "_LIBRARIES", ("wsgiref.simple_server",))
    finders = [*sys.meta_path]
    loaded = {name: module for name, module in sys.modules.items() if name.startswith("wsgiref")}
    for name in loaded:
        monkeypatch.delitem(sys.modules, name)
    try:
        warm_up._import_libraries()
        assert len(waits) >= 3  # wsgiref, wsgiref.simple_server, wsgiref.handlers
        assert sys.meta_path == finders
    finally:
        for name in [name for name in sys.modules if name.startswith("wsgiref")]:
            del sys.modules[name]
        sys.modules.update(loaded)
    assert importlib.import_module("wsgiref.simple_server")

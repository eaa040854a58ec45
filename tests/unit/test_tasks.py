"""A measure over a set: it grows in parts, ends in a result or in trouble, and lets go of what it held."""

from __future__ import annotations

import gc
import logging
import weakref
from collections.abc import Generator

import pytest

from pages.stores import tasks
from pages.stores.tasks import BackgroundTask


class Held:
    """Stands for a model."""


def counting(held: Held) -> Generator[float, None, int]:
    yield 0.5
    yield 1.0
    return 7


def test_it_grows_and_lets_go_of_the_model() -> None:
    held = Held()
    gone = weakref.ref(held)
    task = BackgroundTask(("count",), counting(held))
    del held
    assert task.advance() and task.share == 0.5 and not task.ended
    assert task.advance() and task.share == 1.0
    assert not task.advance() and task.ended and task.result == 7 and not task.failed
    assert not task.advance()
    gc.collect()
    assert gone() is None


def test_trouble_ends_it_without_a_result(caplog: pytest.LogCaptureFixture) -> None:
    def failing() -> Generator[float, None, int]:
        yield 0.1
        raise ValueError("a set that is gone")

    task = BackgroundTask(("fail",), failing())
    assert task.advance()
    with caplog.at_level(logging.CRITICAL):
        assert not task.advance()
    assert task.ended and task.failed and task.result is None


def test_a_half_done_task_that_nobody_asks_for_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stayed with its images, some 600 MB of a published model's, until 24 others had come."""

    def work() -> Generator[float, None, str]:
        yield 0.5
        return "done"

    monkeypatch.setattr(tasks, "IDLE_LIMIT_S", 60.0)
    left, watched, ended = (tasks.start_task(("let go", name), work) for name in ("left", "watched", "ended"))
    while ended.advance():
        pass
    assert left.advance() and ended.result == "done"
    left.last_used_s -= 61.0
    ended.last_used_s -= 61.0
    assert tasks.start_task(("let go", "watched"), work) is watched
    assert not {left, ended} & tasks._running
    assert tasks.start_task(("let go", "ended"), work) is ended
    assert tasks.start_task(("let go", "left"), work) is not left, "it begins anew"

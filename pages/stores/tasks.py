"""Compute measurements in parts in the background, once for all sessions."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Hashable, Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from pages.stores import background_jobs, shared_cache

R = TypeVar("R")
Work = Generator[float, None, R]  # yields the completed share, returns the result
MAX_TASKS = 48
# An unfinished task that no page used for this long is dropped, which frees its images.
IDLE_LIMIT_S = 60.0

_background = background_jobs.Background()
_running: set[BackgroundTask[Any]] = set()
_lock = threading.Lock()
_created: WeakValueDictionary[tuple[Hashable, ...], BackgroundTask[Any]] = WeakValueDictionary()


class BackgroundTask(Generic[R]):
    """A computation in parts: a thread advances it, pages read its result."""

    def __init__(self, key: tuple[Hashable, ...], work: Work[R]) -> None:
        self.key = key
        self._work: Work[R] | None = work
        self._ended = threading.Event()
        self.share, self.failed = 0.0, False
        self.last_used_s = time.monotonic()
        self.result: R | None = None

    @property
    def ended(self) -> bool:
        """Return True if the task has a result or failed."""
        return self._ended.is_set()

    def advance(self) -> bool:
        """Compute the next part; return True if another one follows."""
        if self._work is None:
            return False
        from vitviz.probe.capture import limit_pools  # loads torch

        try:
            # With several threads a small model takes many times as long while other processes use the cores.
            with limit_pools(1):
                self.share = next(self._work)
            return True
        except StopIteration as stop:
            self.result = stop.value
        except Exception:  # e.g. a deleted dataset, or weights that do not fit
            logging.getLogger(__name__).warning("a measurement over a dataset failed", exc_info=True)
            self.failed = True
        self._work = None  # frees the model
        self._ended.set()
        return False

    def wait(self, seconds: float) -> None:
        """Wait until the task has ended, at most this long."""
        self._ended.wait(seconds)


def start_task(key: tuple[Hashable, ...], make: Callable[[], Work[R]]) -> BackgroundTask[R]:
    """Return the task with this key, shared by all sessions; create it on first use, and drop idle tasks."""
    task: BackgroundTask[R] = _create_task(key, make)
    task.last_used_s = now_s = time.monotonic()
    with _lock:
        _running.add(task)
        for other in [other for other in _running if other.ended or now_s - other.last_used_s > IDLE_LIMIT_S]:
            _running.remove(other)
            if not other.ended:
                _create_task.forget(other.key, None)
    return task


@shared_cache.shared(max_entries=MAX_TASKS)
def _create_task(key: tuple[Hashable, ...], _make: Callable[[], Work[Any]]) -> BackgroundTask[Any]:
    task = _created[key] = BackgroundTask(key, _make())
    return task


def find_result(key: tuple[Hashable, ...]) -> Any | None:
    """Return the result of the task with this key; None if it was not started or has not ended."""
    task = _created.get(key)
    return None if task is None else task.result


def request(tasks: Sequence[BackgroundTask[Any]]) -> None:
    """Keep tasks that have not ended running."""
    for task in tasks:
        task.last_used_s = time.monotonic()
        if not task.ended:
            _background.request(task)


def forget_failed(tasks: Sequence[BackgroundTask[Any]]) -> bool:
    """Forget the tasks that failed, so that the next request tries again; return True if there were some."""
    failed = [task for task in tasks if task.failed]
    for task in failed:
        _create_task.forget(task.key, None)
    return bool(failed)

"""What is computed over a set of pictures: once for everybody, behind the page, with its progress shown."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Hashable, Sequence
from typing import Any, Generic, TypeVar

import streamlit as st
from threadpoolctl import threadpool_limits

from pages.stores import cached
from pages.stores.background import Background

R = TypeVar("R")
Work = Generator[float, None, R]  # yields the share that is done, returns the result
POLL_S = 0.7
PATIENCE_S = 0.5  # a page waits so long before it shows a bar: what is quick comes at once
KEPT = 24
# A task that nobody asked for so long is dropped half-done, and with it the pictures that it holds.
LEFT_S = 60.0

_behind = Background()
_under_way: set[Task[Any]] = set()
_lock = threading.Lock()


class Task(Generic[R]):
    """A result that grows in parts: advanced by a thread, read by pages."""

    def __init__(self, of: tuple[Hashable, ...], work: Work[R]) -> None:
        self.of = of
        self._work: Work[R] | None = work
        self._ended = threading.Event()
        self.share, self.trouble = 0.0, False
        self.asked = time.monotonic()
        self.result: R | None = None

    @property
    def ended(self) -> bool:
        """Whether there is a result, or never will be."""
        return self._ended.is_set()

    def advance(self) -> bool:
        """Compute the next part; whether another one follows."""
        if self._work is None:
            return False
        try:
            # Small models by threads that wait for each other take many times as long where others keep the cores busy.
            with threadpool_limits(1):
                self.share = next(self._work)
            return True
        except StopIteration as stop:
            self.result = stop.value
        except Exception:  # a set that is gone, weights that do not fit
            logging.getLogger(__name__).warning("a measure over a set failed", exc_info=True)
            self.trouble = True
        self._work = None  # and with it the model
        self._ended.set()
        return False

    def wait(self, seconds: float) -> None:
        """Until it has ended, or so long."""
        self._ended.wait(seconds)


def task(of: tuple[Hashable, ...], make: Callable[[], Work[R]]) -> Task[R]:
    """The task of this kind and these arguments: whoever asks first begins it, and all share it."""
    found: Task[R] = _task(of, make)
    found.asked = now = time.monotonic()
    with _lock:
        _under_way.add(found)
        for one in [one for one in _under_way if one.ended or now - one.asked > LEFT_S]:
            _under_way.remove(one)
            if not one.ended:
                _task.forget(one.of, None)
    return found


@cached.shared(most=KEPT)
def _task(of: tuple[Hashable, ...], _make: Callable[[], Work[Any]]) -> Task[Any]:
    return Task(of, _make())


def results(tasks: Sequence[Task[R]], saying: str) -> list[R] | None:
    """The results of all, or None where they are under way: then their progress is drawn, and in the end the page.

    Args:
        saying: what is being done, such as 'Comparing the layers'.
    """
    waiting = [one for one in tasks if not one.ended]
    for one in waiting:
        _behind.ask(one)
    if waiting:
        waiting[-1].wait(PATIENCE_S)
    failed = [one for one in tasks if one.trouble]
    if failed:
        for one in failed:
            _task.forget(one.of, None)  # the next look tries again
        st.warning(f"{saying}: this could not be computed. Choose another set of pictures, or another model.")
        return None
    found = [one.result for one in tasks if one.result is not None]
    if len(found) == len(tasks):
        return found
    st.fragment(_watch, run_every=POLL_S)(tuple(tasks), saying)
    return None


def _watch(tasks: Sequence[Task[Any]], saying: str) -> None:
    if all(one.ended for one in tasks):
        st.rerun()
    for one in tasks:
        one.asked = time.monotonic()
        _behind.ask(one)
    share = sum(1.0 if one.ended else one.share for one in tasks) / len(tasks)
    st.progress(share, f"{saying}: {100 * share:.0f} % done.")

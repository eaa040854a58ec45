"""Work behind the pages: advanced in turn by one thread, which ends when nobody asks any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from pages.stores.background_jobs import Background


class Counter:
    """A job of some parts; notes the threads that advanced it."""

    def __init__(self, parts: int) -> None:
        self.left, self.threads = parts, set[threading.Thread]()
        self.done = threading.Event()

    def advance(self) -> bool:
        self.threads.add(threading.current_thread())
        self.left = max(0, self.left - 1)
        if not self.left:
            self.done.set()
        return self.left > 0


class Broken:
    """A job that fails."""

    def advance(self) -> bool:
        raise RuntimeError("broken")


def wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_jobs_are_advanced_by_one_other_thread_which_ends() -> None:
    behind = Background(patience_s=1)
    jobs = [Counter(5), Counter(3)]
    for job in (*jobs, *jobs):
        behind.request(job)
    for job in jobs:
        assert job.done.wait(240)
    (thread,) = jobs[0].threads | jobs[1].threads
    assert thread is not threading.current_thread()
    wait(lambda: not behind.running)
    thread.join(240)
    assert not thread.is_alive()
    again = Counter(2)
    behind.request(again)
    assert again.done.wait(240)


def test_a_job_that_fails_does_not_end_the_others() -> None:
    behind, job = Background(patience_s=1), Counter(3)
    behind.request(Broken())
    behind.request(job)
    assert job.done.wait(240)


def test_what_was_asked_for_is_forgotten_by_still() -> None:
    behind, job = Background(patience_s=4), Counter(10**9)
    behind.request(job)
    wait(lambda: job.left < 10**9)
    with behind.pause():
        left = job.left
    wait(lambda: not behind.running)  # a quarter of its patience later
    assert job.left == left

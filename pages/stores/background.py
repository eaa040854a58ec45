"""Work behind the pages: one thread per server computes what visits look at, so that a page that polls only reads."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

PATIENCE_S = 3.0  # after the last page that asked; pages ask at every poll


class Job(Protocol):
    """Something that is computed in parts."""

    def advance(self) -> bool:
        """Compute one part; whether more can be computed at once. Catches what its parts raise."""


class Background:
    """Advances in turn the jobs that pages ask for; its thread ends when nobody has asked for `patience_s` seconds."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._working = threading.Lock()
        self._news = threading.Event()
        self._asked: dict[Job, float] = {}
        self._thread: threading.Thread | None = None

    def ask(self, job: Job) -> None:
        """Wants this job to go on; cheap, returns at once. A job that several pages ask for is one."""
        with self._lock:
            self._asked[job] = time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="vitviz-background", daemon=True)
                self._thread.start()
        self._news.set()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Nothing is computed within; what was asked for before is forgotten."""
        with self._working:
            with self._lock:
                self._asked.clear()
            yield

    @property
    def running(self) -> bool:
        """Whether the thread is there."""
        with self._lock:
            return self._thread is not None

    def _run(self) -> None:
        while jobs := self._wanted():
            if not any([self._advance(job) for job in jobs]):
                self._news.wait(self._patience_s / 4)
            self._news.clear()  # before the next look at what is wanted, so that no news is lost

    def _wanted(self) -> list[Job]:
        with self._lock:
            since = time.monotonic() - self._patience_s
            self._asked = {job: at for job, at in self._asked.items() if at >= since}
            if not self._asked:
                self._thread = None
            return list(self._asked)

    def _advance(self, job: Job) -> bool:
        with self._working:
            if job not in self._asked:  # forgotten meanwhile
                return False
            try:
                return job.advance()
            except Exception:  # the other jobs go on
                logging.getLogger(__name__).exception("work behind the pages failed")
                return False

"""Run jobs of pages in one background thread per server."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

PATIENCE_S = 3.0  # after the last request; pages repeat it at every poll


class Job(Protocol):
    """A computation that advances in parts."""

    def advance(self) -> bool:
        """Compute one part and return True if more can be computed at once; catch exceptions of the part."""


class Background:
    """Advances the requested jobs in turn; its thread ends after `patience_s` seconds without a request."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._working = threading.Lock()
        self._requests = threading.Event()
        self._requested_at: dict[Job, float] = {}
        self._thread: threading.Thread | None = None

    def request(self, job: Job) -> None:
        """Request progress of a job; returns at once. Equal jobs are computed once."""
        with self._lock:
            self._requested_at[job] = time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="vitviz-background", daemon=True)
                self._thread.start()
        self._requests.set()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stop computing while the context is open, and forget earlier requests."""
        with self._working:
            with self._lock:
                self._requested_at.clear()
            yield

    @property
    def running(self) -> bool:
        with self._lock:
            return self._thread is not None

    def _run(self) -> None:
        while jobs := self._list_jobs():
            if not any([self._advance(job) for job in jobs]):
                self._requests.wait(self._patience_s / 4)
            self._requests.clear()  # before jobs are read again, so that no request is lost

    def _list_jobs(self) -> list[Job]:
        with self._lock:
            since = time.monotonic() - self._patience_s
            self._requested_at = {job: at for job, at in self._requested_at.items() if at >= since}
            if not self._requested_at:
                self._thread = None
            return list(self._requested_at)

    def _advance(self, job: Job) -> bool:
        with self._working:
            if job not in self._requested_at:  # paused meanwhile
                return False
            try:
                return job.advance()
            except Exception:  # other jobs continue
                logging.getLogger(__name__).exception("A background job failed")
                return False

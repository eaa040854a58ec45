"""How often somebody may try a code: wrong ones are counted, and after too many even the right one has to wait."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict


class Tries:
    """Wrong tries of many, each counted for a while.

    Args:
        most: wrong tries that are let through.
        seconds: for how long each counts.
        names: of how many it is remembered; the longest unseen are forgotten.
    """

    def __init__(self, most: int, seconds: float, names: int = 4096) -> None:
        self._most, self._seconds, self._names = most, seconds, names
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def may(self, name: str) -> bool:
        """Whether one more try is let through."""
        horizon = time.monotonic() - self._seconds
        with self._lock:
            return sum(at > horizon for at in self._wrong.get(name, ())) < self._most

    def wrong(self, name: str) -> None:
        """A try was wrong."""
        with self._lock:
            kept = self._wrong.pop(name, [])
            self._wrong[name] = (
                [*kept[1 - self._most :], time.monotonic()] if self._most > 1 else [time.monotonic()]
            )
            while len(self._wrong) > self._names:
                self._wrong.popitem(last=False)

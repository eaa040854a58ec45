"""How often pages ask how a run stands: the more visits watch, the less often each, so that training keeps its time."""

from __future__ import annotations

import os
import threading
import time

AT_FULL_SPEED = 4  # visits; of a class of thirty each sees its curves about once a second
_WATCHING_S = 3.0


def least_slowness() -> float:
    """How many times less often the operator has every visit ask; 1 where that is no number of 1 to 100."""
    try:
        wanted = float(os.environ.get("VITVIZ_SLOWNESS", ""))
    except ValueError:
        return 1.0
    return wanted if 1 <= wanted <= 100 else 1.0


class Watchers:
    """The visits that watch a run just now, so that a class shares the server's time and training keeps its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, float] = {}

    def note(self, visit: str) -> None:
        """This visit has asked for news."""
        now = time.monotonic()
        with self._lock:
            self._seen[visit] = now
            self._seen = {name: at for name, at in self._seen.items() if now - at < _WATCHING_S}

    def slowness(self) -> float:
        """How many times more slowly than alone a visit polls: the more visits share the server, the slower."""
        with self._lock:
            return max(least_slowness(), len(self._seen) / AT_FULL_SPEED)


_EVERYBODY = Watchers()  # of this server


def note(visit: str) -> None:
    """This visit has asked for news of a run."""
    _EVERYBODY.note(visit)


def slowness() -> float:
    """How many times more slowly than alone a visit polls now."""
    return _EVERYBODY.slowness()

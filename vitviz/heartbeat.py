"""Detect dead processes by their heartbeat, independent of wall-clock changes.

The first check uses the age of the heartbeat. Later checks use the monotonic clock: a process whose heartbeat changed
recently is alive, one whose heartbeat did not change for too long is dead.
"""

import threading
import time
from dataclasses import dataclass

_MOST = 4096  # heartbeats that are remembered; the longest unasked are forgotten


class Clock:
    """Notices that a clock was set: its time against the one that only counts.

    Args:
        tolerance_s: by how much a clock may run unevenly between two looks.
    """

    def __init__(self, tolerance_s: float) -> None:
        self._tolerance_s = tolerance_s
        self._offset: float | None = None
        self._jumped = float("-inf")

    def even_for(self, seconds: float, time_s: float) -> bool:
        """Return True if no jump was noticed within the last seconds: ages of files and words can be believed then.

        Args:
            time_s: the clock's time, in seconds since 1970.
        """
        counted = time.monotonic()
        offset = time_s - counted
        if self._offset is not None and abs(offset - self._offset) > self._tolerance_s:
            self._jumped = counted
        self._offset = offset
        return counted - self._jumped > seconds


@dataclass(frozen=True)
class _Seen:
    word: float
    since: float  # when it was seen first; this and the next by the clock that only counts
    looked: float
    moved: bool  # whether it took another's place under our eyes


class Heartbeats:
    """The heartbeats that this process has seen.

    Args:
        limit_s: who is silent for so long has died.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._clock = Clock(limit_s / 2)
        self._seen: dict[str, _Seen] = {}
        self._lock = threading.Lock()

    def lives(self, name: str, word: float, time_s: float) -> bool:
        """Return True if one lives.

        Args:
            word: the time that it said last, in seconds since 1970.
            time_s: by the clock that `word` was read from, as near as is known.
        """
        counted = time.monotonic()
        with self._lock:
            even = self._clock.even_for(self._limit_s, time_s)
            last = self._seen.pop(name, None)
            if last is None or last.word != word:
                moved = last is not None and counted - last.looked <= self._limit_s
                seen = _Seen(word, counted, counted, moved)
            else:
                seen = _Seen(word, last.since, counted, last.moved)
            self._seen[name] = seen
            while len(self._seen) > _MOST:
                del self._seen[next(iter(self._seen))]
        if counted - seen.since > self._limit_s:
            return False
        return seen.moved or not even or time_s - word <= self._limit_s

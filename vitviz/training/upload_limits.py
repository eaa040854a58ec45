"""Limit the runs and datasets that may be uploaded, by session and by address."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from vitviz.text import plural
from vitviz.training.run_directory import RunError

PER_OWNER = 12
PER_ADDRESS = 120  # a class behind one address
WINDOW_S = 3600.0


@dataclass
class Intake:
    """The uploads of one kind of the last hour, of this server process; safe to use from every visit's thread."""

    kind: str = "run"
    now: Callable[[], float] = time.monotonic
    _taken: deque[tuple[float, str, str]] = field(default_factory=deque)  # (when, owner, address)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, owner: str, address: str = "") -> None:
        """Count one more upload; `address` is empty where it is not known, and then does not count.

        Raises:
            RunError: if `PER_OWNER` of this visit or `PER_ADDRESS` of this address came within `WINDOW_S`.
        """
        with self._lock:
            now = self.now()
            while self._taken and now - self._taken[0][0] >= WINDOW_S:
                self._taken.popleft()
            mine = sum(who == owner for _, who, _ in self._taken)
            here = sum(bool(address) and where == address for *_, where in self._taken)
            for count, most, whose in ((mine, PER_OWNER, "you"), (here, PER_ADDRESS, "your network")):
                if count >= most:
                    came = f"{plural(count, self.kind)} came from {whose} within an hour"
                    raise RunError(f"{came}, which is all that may; try again later")
            self._taken.append((now, owner, address))

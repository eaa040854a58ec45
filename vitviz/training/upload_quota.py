"""Limit the runs and datasets that may be uploaded, by session and by address."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from vitviz.text import plural
from vitviz.training.run_directory import RunError
from vitviz.upload_limits import UPLOAD_WINDOW_S, UPLOADS_PER_ADDRESS, UPLOADS_PER_USER


@dataclass
class Intake:
    """Recent uploads of one kind to this server process; thread-safe."""

    kind: str = "run"
    now: Callable[[], float] = time.monotonic
    _taken: deque[tuple[float, str, str]] = field(default_factory=deque)  # (when, owner, address)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, owner: str, address: str = "") -> None:
        """Count an upload; an empty `address` does not count.

        Raises:
            RunError: if this session or this address has reached its limit of uploads per hour.
        """
        with self._lock:
            time_s = self.now()
            while self._taken and time_s - self._taken[0][0] >= UPLOAD_WINDOW_S:
                self._taken.popleft()
            from_owner = sum(who == owner for _, who, _ in self._taken)
            from_address = sum(bool(address) and where == address for *_, where in self._taken)
            for count, most, whose in (
                (from_owner, UPLOADS_PER_USER, "you"),
                (from_address, UPLOADS_PER_ADDRESS, "your network"),
            ):
                if count >= most:
                    raise RunError(
                        f"{plural(count, self.kind)} came from {whose} within an hour, the limit: try again later"
                    )
            self._taken.append((time_s, owner, address))

"""Poll runs less often the more users watch, so that training keeps its processor time."""

import os
import threading
import time

AT_FULL_SPEED = 4  # users; in a class of thirty, curves update about once a second
_WATCHING_S = 3.0


def read_min_slowness() -> float:
    """Return $VITVIZ_SLOWNESS, the operator's factor on polling intervals; 1 unless it is in 1 to 100."""
    try:
        factor = float(os.environ.get("VITVIZ_SLOWNESS", ""))
    except ValueError:
        return 1.0
    return factor if 1 <= factor <= 100 else 1.0


class Watchers:
    """The users who are watching a run now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, float] = {}

    def note(self, user: str) -> None:
        time_s = time.monotonic()
        with self._lock:
            self._seen[user] = time_s
            self._seen = {name: at for name, at in self._seen.items() if time_s - at < _WATCHING_S}

    def slowness(self) -> float:
        """Return the factor on a user's polling interval; it grows with the number of users."""
        with self._lock:
            return max(read_min_slowness(), len(self._seen) / AT_FULL_SPEED)


_WATCHERS = Watchers()  # of this server


note_user = _WATCHERS.note
get_slowness = _WATCHERS.slowness

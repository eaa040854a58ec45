"""Provide a lock that is granted in the order of requests.

`threading.Lock` can be taken again by the thread that just released it: a session that decodes ten thousand images
would starve all others.
"""

import threading
from collections import deque


class FairLock:
    """At most `places` holders at a time, first come, first served; use it in a `with`. Not reentrant."""

    def __init__(self, places: int = 1) -> None:
        self._guard = threading.Lock()
        self._free = places
        self._line: deque[threading.Event] = deque()

    def __enter__(self) -> None:
        with self._guard:
            if self._free:
                self._free -= 1
                return
            turn = threading.Event()
            self._line.append(turn)
        turn.wait()

    def __exit__(self, *_: object) -> None:
        with self._guard:
            if self._line:
                self._line.popleft().set()  # the place passes to the next
            else:
                self._free += 1

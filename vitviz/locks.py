"""Lock a file between threads and processes until its holder ends, and grant a lock in the order of requests."""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import IO

_AGAIN_S = 0.05

if sys.platform == "win32":
    import msvcrt

    def _lock_handle(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock_handle(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(path: Path, meanwhile: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Wait for a file's lock and hold it; the empty file is removed afterwards.

    Args:
        meanwhile: called again and again while another has it; an error that it raises ends the waiting.

    Raises:
        OSError: if the file cannot be made.
    """
    while (file := try_hold(path)) is None:
        meanwhile()
        sleep(_AGAIN_S)
    with file:
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes no open file: it stays there
                path.unlink()


def try_hold(path: Path) -> IO[bytes] | None:
    """Return a file, created if missing and locked until it is closed or the process ends; None if another holds it.

    Raises:
        OSError: if the file cannot be opened.
    """
    file = open(path, "ab")
    if _try_lock(file.fileno()) and _lies_at(path, file.fileno()):  # who held it may have removed it
        return file
    file.close()
    return None


def _lies_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _try_lock(handle: int) -> bool:
    try:
        _lock_handle(handle)
    except (BlockingIOError, PermissionError):
        return False
    return True


class FairLock:
    """At most `places` holders at a time, first come, first served; use it in a `with`. Not reentrant.

    `threading.Lock` can be taken again by the thread that just released it: a session that decodes ten thousand images
    would starve all others.
    """

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

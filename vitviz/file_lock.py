"""One at a time among all threads and processes that see a folder: the system's own lock on a file in it.

It ends with whoever holds it, however that ends, so nobody waits for the dead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

_AGAIN_S = 0.05

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(path: Path, meanwhile: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Waits for a file's lock and holds it. The file is made where it is missing, and stays; it holds nothing.

    Args:
        meanwhile: called again and again while another has it; an error that it raises ends the waiting.

    Raises:
        OSError: if the file cannot be made.
    """
    with open(path, "ab") as file:  # the lock goes with it
        while not _taken(file.fileno()):
            meanwhile()
            sleep(_AGAIN_S)
        yield


def _taken(handle: int) -> bool:
    try:
        _take(handle)
    except (BlockingIOError, PermissionError):
        return False
    return True

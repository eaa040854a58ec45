"""Lock a file between threads and processes with the operating system's lock, which ends with its holder."""

import os
import sys
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
    with _open_locked(path, meanwhile):
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes no open file: it stays there
                path.unlink()


def _open_locked(path: Path, meanwhile: Callable[[], None]) -> IO[bytes]:
    """Return the open file, locked; its lock goes as it is closed."""
    while True:
        file = open(path, "ab")
        try:
            while not _try_lock(file.fileno()):
                meanwhile()
                sleep(_AGAIN_S)
            if _lies_at(path, file.fileno()):
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # who held it has removed it, and another may hold a new one


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

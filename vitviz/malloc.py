"""Configure how the C library keeps or returns freed memory, for trainers and for the server.

Only glibc takes such orders; under another C library nothing happens.
"""

import ctypes
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # malloc.h's names for mallopt
_MOST = 2**31 - 1


def keep_freed() -> None:
    """Keep freed memory in this process for the next update.

    By default every map over some MiB is a mapping of its own, whose pages the system clears again at each update:
    up to an eighth of a convolutional network's training.
    """
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(_MMAP_MAX, 0)
        libc.mallopt(_TRIM_THRESHOLD, _MOST)


def give_back() -> None:
    """Return free memory to the system, from the arenas of all threads."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)

"""Generate, parse and rate-limit class codes: six of thirty characters, without similar ones such as 0 and O.

There are 7.3 * 10^8 codes, each valid for hours. A code admits anyone, like a link.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict

ALPHABET = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
LENGTH = 6


def generate_code() -> str:
    """Return an unguessable code."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def parse_code(text: str) -> str | None:
    """Return the code in a typed text, in any case, with spaces or hyphens; None if it is not one."""
    if len(text) > 4 * LENGTH:
        return None
    code = "".join(text.split()).replace("-", "").upper()
    return code if len(code) == LENGTH and set(code) <= set(ALPHABET) else None


def format_code(code: str) -> str:
    """Return the code as displayed, 'K7Q M4T', with a non-breaking space."""
    return f"{code[: LENGTH // 2]}\N{NO-BREAK SPACE}{code[LENGTH // 2 :]}"


class CodeAttempts:
    """The recent failed attempts of many clients; a client over the limit must wait, even with the right code.

    Args:
        most: failed attempts allowed within the window.
        seconds: length of the window.
        names: number of clients remembered; the least recent are forgotten.
    """

    def __init__(self, most: int, seconds: float, names: int = 4096) -> None:
        self._most, self._seconds, self._names = most, seconds, names
        self._failures: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def is_allowed(self, name: str) -> bool:
        """Return True if a client may make another attempt."""
        horizon = time.monotonic() - self._seconds
        with self._lock:
            return sum(at > horizon for at in self._failures.get(name, ())) < self._most

    def record_failure(self, name: str) -> None:
        with self._lock:
            times = [*self._failures.pop(name, []), time.monotonic()]
            self._failures[name] = times[-self._most :]
            while len(self._failures) > self._names:
                self._failures.popitem(last=False)

"""Generate, parse and rate-limit class codes: six of thirty characters, without similar ones such as 0 and O.

There are 7.3 * 10^8 codes, each valid for hours. A code admits anyone, like a link.
"""

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


class DelayedAttempts:
    """The recent failed attempts from shared addresses; a further attempt waits, and is refused only if many wait.

    A successful attempt costs nothing, so that a class that joins from one address does not wait.

    Args:
        burst: failed attempts that delay nobody.
        spacing_s: seconds between attempts after those.
        longest_s: longest delay.
        names: number of addresses remembered; the least recent are forgotten.
    """

    def __init__(self, burst: int, spacing_s: float, longest_s: float = 10.0, names: int = 4096) -> None:
        self._burst_s, self._spacing_s, self._longest_s, self._names = (
            burst * spacing_s,
            spacing_s,
            longest_s,
            names,
        )
        self._due_s: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def reserve(self, name: str) -> float | None:
        """Count an attempt as failed and return its delay in seconds, or None if it must be refused."""
        now_s = time.monotonic()
        with self._lock:
            due_s = max(self._due_s.get(name, now_s), now_s)
            delay_s = max(0.0, due_s - now_s - self._burst_s)
            if delay_s > self._longest_s:
                return None
            self._due_s[name] = due_s + self._spacing_s
            self._due_s.move_to_end(name)
            while len(self._due_s) > self._names:
                self._due_s.popitem(last=False)
        return delay_s

    def refund(self, name: str) -> None:
        """Take back an attempt that succeeded."""
        with self._lock:
            if name in self._due_s:
                self._due_s[name] -= self._spacing_s

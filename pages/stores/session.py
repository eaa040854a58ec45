"""The visit: what belongs to one visitor, by a secret name that never stands in a link.

A page asks for its visit once and hands it on as a value: a download that is made later, or a thread, has no session
to ask. Visits live in this module and not in a cache, which any visitor can empty.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st

COOKIE = "vitviz_visit"
_KEY = "_visit"  # of the session: its Visit
_TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")
_KEEP_S = 12 * 3600.0  # after the last look at a page
_MOST = 4096  # visits of which anything is remembered


@dataclass(eq=False)
class Visit:
    """One visitor's belongings; its tuples are replaced and never changed, so any thread may read them."""

    token: str
    runs: tuple[str, ...] = ()  # ids, newest first
    weights: tuple[str, ...] = ()  # ids of weights that it opened, newest first
    sets: tuple[str, ...] = ()  # names of the sets of pictures that it uploaded, newest first
    uploads: tuple[str, ...] = ()  # ids of its pictures, oldest first
    sets_seen: float = -1e9  # when its sets were last said to be in use
    lost: int = 0  # runs that were gone when they were looked for, until a page has said so
    recalled: bool = False  # whether its runs of before a restart of the server were looked for
    notes: dict[str, object] = field(
        default_factory=dict
    )  # what pages remember over a reload, by control key
    seen: float = field(default_factory=time.monotonic)

    @property
    def owner(self) -> str:
        """What runs on disk say of their maker: nobody can act as the visit who knows it."""
        return hashlib.sha256(self.token.encode()).hexdigest()[:16]


_visits: dict[str, Visit] = {}
_lock = threading.Lock()
_leaving: list[Callable[[str], None]] = []
_sessions: Counter[str] = Counter()  # open ones by token: the tabs of one browser


def current() -> Visit:
    """The visit of this session: the one that the browser's cookie names, else a new one."""
    found: Visit | None = st.session_state.get(_KEY)
    if found is None:
        said = st.context.cookies.get(COOKIE)
        known = isinstance(said, str) and _TOKEN.fullmatch(said)
        found = st.session_state[_KEY] = _named(str(said) if known else secrets.token_urlsafe(16))
    found.seen = time.monotonic()
    return found


def arrive() -> Visit:
    """The visit of this session, at the beginning of a run of its page: from now on its end is noticed."""
    found = current()
    _stays(found.token)
    return found


def take_lost(visit: Visit) -> int:
    """How many of a visit's runs were found gone since it was last asked."""
    lost, visit.lost = visit.lost, 0
    return lost


def address() -> str:
    """From where this session comes, for fair turns; empty on one's own machine and behind a proxy on it."""
    return st.context.ip_address or ""


def on_leave(callback: Callable[[str], None]) -> None:
    """Has a function called with a visit's token when its connection ends; it may come back."""
    _leaving.append(callback)


def _named(token: str) -> Visit:
    now = time.monotonic()
    with _lock:
        for old in [name for name, visit in _visits.items() if now - visit.seen > _KEEP_S]:
            del _visits[old]
        while len(_visits) >= _MOST:
            del _visits[min(_visits, key=lambda name: _visits[name].seen)]
        return _visits.setdefault(token, Visit(token))


def _left(token: str) -> None:
    """One of a visit's sessions has ended: it leaves with the last of them, not with a tab among others."""
    with _lock:
        _sessions[token] -= 1
        if _sessions[token] > 0:
            return
        del _sessions[token]
    for callback in _leaving:
        callback(token)


@st.cache_resource(scope="session", show_spinner=False, on_release=_left)
def _stays(token: str) -> str:
    """Held by the session, so that its end is noticed."""
    with _lock:
        _sessions[token] += 1
    return token

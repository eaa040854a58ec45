"""Identify users by a signed cookie and keep their sessions in memory.

A page gets its user once and passes it on as a value: a later download or a thread has no Streamlit session. Sessions
are stored in this module and not in a Streamlit cache, which any user can empty.
"""

import ipaddress
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal

import streamlit as st

from pages.stores.session_cookie import hash_token, read_token

_KEY = "_visit"  # session key of the UserSession
_KEEP_S = 12 * 3600.0  # after the last run of a page
_MOST = 4096  # sessions in memory
StoredKind = Literal["runs", "weights", "datasets", "uploads", "recorded"]


@dataclass(eq=False)
class UserSession:
    """One user's runs, uploads and notes.

    Its tuples are replaced, never changed, so that threads may read them; tabs change them through `update`.
    """

    token: str
    runs: tuple[str, ...] = ()  # ids, newest first
    weights: tuple[str, ...] = ()  # ids of opened weights, newest first
    datasets: tuple[str, ...] = ()  # names of uploaded datasets, newest first
    uploads: tuple[str, ...] = ()  # ids of uploaded images, newest first
    recorded: tuple[str, ...] = ()  # ids of uploaded recorded runs, newest first
    datasets_marked_at: float = -1e9  # when its datasets were last marked as used
    lost_runs: int = 0  # runs found deleted since a page last reported them
    runs_restored: bool = False  # True once its runs on disk have been searched
    notes: dict[str, object] = field(default_factory=dict)  # state that survives a reload, by key
    seen: float = field(default_factory=time.monotonic)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def update(
        self, kind: StoredKind, add: Iterable[str] = (), remove: Collection[str] = (), most: int | None = None
    ) -> int:
        """Add ids before the others and remove some, without losing what another tab changes; return the difference."""
        with self.lock:
            before: tuple[str, ...] = getattr(self, kind)
            after = dict.fromkeys((*add, *(name for name in before if name not in remove)))
            setattr(self, kind, tuple(after)[:most])
            return len(after) - len(before)

    @property
    def has_models(self) -> bool:
        """Return True if the user has runs or weights, or runs on disk that have not been searched yet."""
        return bool(self.runs or self.weights or self.recorded or not self.runs_restored)

    @property
    def owner(self) -> str:
        """Return the owner's id in runs on disk; it does not allow acting as the user."""
        return hash_token(self.token)


_users: dict[str, UserSession] = {}
_lock = threading.Lock()
_disconnect_callbacks: list[Callable[[str], None]] = []
_tab_counts: Counter[str] = Counter()  # open tabs by token


def get_current() -> UserSession:
    """Return the user's session, from the browser's cookie or new."""
    user: UserSession | None = st.session_state.get(_KEY)
    if user is None:
        token = read_token(st.context.cookies, st.context.url) or secrets.token_urlsafe(16)
        user = st.session_state[_KEY] = _get_or_create(token)
    user.seen = time.monotonic()
    return user


def open_session() -> UserSession:
    """Return the user's session and register this tab, so that its end is noticed."""
    user = get_current()
    _register_tab(user.token)
    return user


def take_lost_run_count(user: UserSession) -> int:
    """Return how many of the user's runs have disappeared since the last call."""
    with user.lock:
        lost, user.lost_runs = user.lost_runs, 0
    return lost


def get_address() -> str:
    """Return the client's IP address for rate limits; empty on a local machine."""
    return st.context.ip_address or ""


def get_network(address: str) -> str:
    """Return an IPv4 address, or the network of an IPv6 address: one user has 2^64 of those."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    return address if parsed.version == 4 else str(ipaddress.ip_network((parsed, 64), strict=False))


def on_disconnect(callback: Callable[[str], None]) -> None:
    """Register a function that receives a user's token when the connection ends; the user may return."""
    _disconnect_callbacks.append(callback)


def _get_or_create(token: str) -> UserSession:
    time_s = time.monotonic()
    with _lock:
        for old in [name for name, user in _users.items() if time_s - user.seen > _KEEP_S]:
            del _users[old]
        while len(_users) >= _MOST:
            del _users[min(_users, key=lambda name: _users[name].seen)]
        return _users.setdefault(token, UserSession(token))


def _disconnect(token: str) -> None:
    """Remove one of the user's tabs; call the callbacks after the last one."""
    with _lock:
        _tab_counts[token] -= 1
        if _tab_counts[token] > 0:
            return
        del _tab_counts[token]
    for callback in _disconnect_callbacks:
        callback(token)


@st.cache_resource(scope="session", show_spinner=False, on_release=_disconnect)
def _register_tab(token: str) -> str:
    """Count the tab; Streamlit's session cache calls `_disconnect` at its end."""
    with _lock:
        _tab_counts[token] += 1
    return token

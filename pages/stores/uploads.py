"""Keep users' images in memory, under unguessable ids.

Nothing is written to disk or sent on. An image is removed by its user, at the end of the session, or when newer images
need the memory. An image that is open in somebody's tab is not removed for another one.
"""

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet

import numpy as np

from pages.stores.session import UserSession, on_disconnect
from pages.stores.shared_results import ResultCache
from vitviz.upload_limits import IMAGES_BYTES, IMAGES_PER_USER, STORED_PIXELS

PRIVACY = (
    "Your image stays in this server's memory for this session and is never written to disk. Anyone with its link can"
    " view it; you can delete it at any time."
)
_GRACE_S = 120.0  # a dropped connection may come back
_ALL_FULL = "The server's memory for uploads is full, and all are in use: try again later."
_OWN_FULL = (
    "You may keep {} uploads of this kind, and all of yours are open in your tabs, or were within the last two minutes:"
    " delete one, or close its tab and try again."
)


class StoreFull(ValueError):
    """Every upload that would have to make room is open in somebody's tab."""


@dataclass(eq=False)
class Tab:
    """The uploads that one browser tab shows. Only the tab's session refers to it, so that it goes with the session."""

    keys: frozenset[str] = frozenset()


_tabs: WeakSet[Tab] = WeakSet()
_tabs_lock = threading.Lock()


def open_tab() -> Tab:
    """Return a new tab; whatever it shows is not evicted."""
    tab = Tab()
    with _tabs_lock:
        _tabs.add(tab)
    return tab


class Storable(Protocol):
    """An object with a size that a store can hold: an image or a model."""

    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=Storable)
R = TypeVar("R")


@dataclass
class _StoredUpload(Generic[T]):
    content: T
    user: str  # token of the user who uploaded it
    released: float | None = None
    computed: dict[Hashable, ResultCache[Any]] = field(default_factory=dict)  # by kind


@dataclass
class Store(Generic[T]):
    """The server's uploads of one kind, limited in number per user and in total bytes."""

    per_user: int = IMAGES_PER_USER
    total_bytes: int = IMAGES_BYTES
    entries: dict[str, _StoredUpload[T]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, content: T, user: str) -> str:
        """Store an upload under a new id; the user's oldest is evicted, then the oldest of who holds most.

        Raises:
            StoreFull: if every candidate is open in a tab.
        """
        key = secrets.token_urlsafe(16)
        self.lend(key, content, user)
        return key

    def lend(self, key: str, content: T, user: str) -> None:
        """Store an upload under a given id, in place of an earlier one and what was computed from it.

        Raises:
            StoreFull: as `add`.
        """
        with _tabs_lock:
            shown: frozenset[str] = frozenset().union(*(tab.keys for tab in _tabs))
        with self.lock:
            entries = {name: entry for name, entry in self.entries.items() if name != key}
            while sum(entry.user == user for entry in entries.values()) >= self.per_user:
                del entries[_find_oldest(entries, shown, user, _OWN_FULL.format(self.per_user))]
            held = Counter[str]()
            for entry in entries.values():
                held[entry.user] += entry.content.nbytes
            while entries and held.total() + content.nbytes > self.total_bytes:
                holders = [entry.user for name, entry in entries.items() if name not in shown]
                largest = max(holders, key=held.__getitem__, default="")  # of several, whose upload is oldest
                name = _find_oldest(entries, shown, largest)
                held[largest] -= entries.pop(name).content.nbytes
            self.entries = entries | {key: _StoredUpload(content, user)}

    def get(self, key: str) -> T | None:
        with self.lock:
            entry = self.entries.get(key)
            return None if entry is None else entry.content

    def is_of(self, key: str, user: str) -> bool:
        """Return True if the user uploaded it, and may therefore remove it."""
        with self.lock:
            entry = self.entries.get(key)
            return entry is not None and entry.user == user

    def computed(self, key: str, result_key: tuple[Hashable, ...], most: int, make: Callable[[], R]) -> R:
        """Return a result computed from an upload, cached beside it: the newest `most` of a kind.

        Args:
            key: the upload's id; for an expired one, the result is not cached.
            result_key: (kind, the result's other arguments).
            most: number of cached results of the kind.
            make: computes the result.
        """
        kind, *rest = result_key
        with self.lock:
            entry = self.entries.get(key)
            results = None if entry is None else entry.computed.setdefault(kind, ResultCache(most))
        return make() if results is None else results.get(tuple(rest), make)

    def forget_computed(self, kind: str) -> None:
        with self.lock:
            for entry in self.entries.values():
                entry.computed.pop(kind, None)

    def remove(self, key: str) -> None:
        with self.lock:
            self.entries.pop(key, None)

    def forget(self, user: str) -> None:
        with self.lock:
            for key in [key for key, entry in self.entries.items() if entry.user == user]:
                del self.entries[key]

    def release(self, user: str) -> None:
        """Start the grace period of a user's uploads after the connection ended."""
        self._mark(user, time.monotonic())

    def touch(self, user: str) -> None:
        self._mark(user, None)

    def sweep(self) -> None:
        """Remove uploads whose grace period has ended."""
        horizon = time.monotonic() - _GRACE_S
        with self.lock:
            for key, entry in list(self.entries.items()):
                if entry.released is not None and entry.released < horizon:
                    del self.entries[key]

    def _mark(self, user: str, released: float | None) -> None:
        with self.lock:
            for entry in self.entries.values():
                if entry.user == user:
                    entry.released = released


def _find_oldest(
    entries: dict[str, _StoredUpload[Any]], shown: frozenset[str], user: str, why_not: str = _ALL_FULL
) -> str:
    """Return the id of a user's oldest upload that is open in no tab.

    Raises:
        StoreFull: with the sentence `why_not`.
    """
    for key, entry in entries.items():
        if entry.user == user and key not in shown:
            return key
    raise StoreFull(why_not)


STORE: Store[np.ndarray] = Store()
STORES: list[Store[Any]] = [STORE]  # with the stores of other kinds of uploads


def _release_all(user: str) -> None:
    for store in STORES:
        store.release(user)


on_disconnect(_release_all)


def store_image(user: UserSession, file_bytes: bytes) -> str:
    """Decode and store an image; return its image key.

    Raises:
        vitviz.data.image_decoding.ImageError: if the bytes are not a supported image, or the server has no room for it.
    """
    from vitviz.data.image_decoding import ImageError
    from vitviz.data.image_worker import decode_for, decode_in_worker

    with decode_for(user.token):
        image = decode_in_worker(file_bytes, STORED_PIXELS)
    try:
        key = STORE.add(image.pixels, user.token)
    except StoreFull as error:
        raise ImageError(str(error)) from error
    STORE.computed(key, ("own size",), 1, lambda: image.file_size)
    user.update("uploads", [key])
    return f"upload:{key}"


def get_file_size(image: str) -> tuple[int, int] | None:
    """Return (height, width) of an upload's file, before reduction; None if it has expired."""
    key = image.removeprefix("upload:")
    pixels = STORE.get(key)
    return None if pixels is None else STORE.computed(key, ("own size",), 1, lambda: pixels.shape[:2])


def is_owner(user: UserSession, image: str) -> bool:
    """Return True if this user uploaded the image; others may view it by its link, but not remove it."""
    return STORE.is_of(image.removeprefix("upload:"), user.token)


def remove_image(user: UserSession, image: str) -> None:
    """Remove this user's upload; other users' uploads stay."""
    if is_owner(user, image):
        STORE.remove(image.removeprefix("upload:"))


def mark_active(user: UserSession) -> None:
    """Keep the user's uploads, and remove expired ones."""
    for store in STORES:
        store.sweep()
        if user.uploads or user.weights or user.recorded:
            store.touch(user.token)

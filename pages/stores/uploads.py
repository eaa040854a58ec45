"""Pictures of a visitor's own: in the server's memory for this visit, under an id that nobody can guess.

Nothing is written to disk or sent on. A picture goes when it is removed, when its visit has ended, or when newer
pictures need the room.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from pages.stores.session import Visit, on_leave
from pages.stores.shared_results import Results

PRIVACY = (
    "Your picture stays in this server's memory for this visit; whoever has its link sees it too."
    " It is never written to disk or sent on, and you can remove it at once."
)
_PER_VISIT = 4
_TOTAL_BYTES = 256 * 2**20
_COMPUTED_BYTES = 2**30
_MOST_PIXELS = 2048 * 2048  # of a panorama, too: its square is cut from the shorter side
_OWN_SIZE = "own size"
_GRACE_S = 120.0  # a dropped connection releases the visit too, and comes back


def memory_of(value: object) -> int:
    """Bytes of the arrays, tensors and texts in a value of lists, dicts and dataclasses; numbers count nothing."""
    if isinstance(value, bytes | str):
        return len(value)
    if isinstance(size := getattr(value, "nbytes", None), int):
        return size
    if isinstance(value, dict):
        return sum(map(memory_of, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(memory_of, value))
    if is_dataclass(value) and not isinstance(value, type):
        return sum(memory_of(getattr(value, part.name)) for part in fields(value))
    return 0


class Kept(Protocol):
    """What a store keeps: a picture, or a model."""

    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=Kept)
R = TypeVar("R")


@dataclass
class _Entry(Generic[T]):
    thing: T
    visit: str  # the token of the visit that brought it
    released: float | None = None
    computed: dict[Hashable, Results[Any]] = field(default_factory=dict)  # from it, by kind; goes with it
    asked: float = 0.0  # when something computed from it was asked for last

    def computed_bytes(self) -> int:
        """How much memory what was computed from it takes."""
        return sum(memory_of(value) for results in self.computed.values() for value in results.values())

    def drop(self) -> None:
        """Drops what can be computed again: how large a picture was when it came cannot."""
        self.computed = {kind: results for kind, results in self.computed.items() if kind == _OWN_SIZE}


@dataclass
class Store(Generic[T]):
    """The server's uploads of one kind, bounded in number per visit and in bytes altogether.

    What was computed from them is bounded too: attention of one picture may take a hundred times what the picture does.
    """

    per_visit: int = _PER_VISIT
    total_bytes: int = _TOTAL_BYTES
    computed_bytes: int = _COMPUTED_BYTES
    entries: dict[str, _Entry[T]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, thing: T, visit: str) -> str:
        """Keeps an upload; the oldest of this visit, then of all, make room."""
        key = secrets.token_urlsafe(16)
        self.lend(key, thing, visit)
        return key

    def lend(self, key: str, thing: T, visit: str) -> None:
        """Keeps what has an id already."""
        with self.lock:
            mine = [k for k, entry in self.entries.items() if entry.visit == visit]
            for old in mine[: max(0, len(mine) - self.per_visit + 1)]:
                del self.entries[old]
            while self.entries and self._bytes() + thing.nbytes > self.total_bytes:
                del self.entries[next(iter(self.entries))]
            self.entries[key] = _Entry(thing, visit)

    def get(self, key: str) -> T | None:
        """The upload, or None where it is gone."""
        with self.lock:
            entry = self.entries.get(key)
            return None if entry is None else entry.thing

    def is_of(self, key: str, visit: str) -> bool:
        """Whether a visit brought the upload: it has its link from nobody, and may remove it."""
        with self.lock:
            entry = self.entries.get(key)
            return entry is not None and entry.visit == visit

    def computed(self, key: str, of: tuple[Hashable, ...], most: int, make: Callable[[], R]) -> R:
        """What was computed from an upload, kept beside it and no longer than it: the newest `most` of a kind.

        Args:
            key: the upload's id; one that is gone computes and keeps nothing.
            of: (kind, what it depends on beside the upload).
            most: how many of the kind are kept.
            make: computes it.
        """
        kind, *rest = of
        with self.lock:
            entry = self.entries.get(key)
            results = None if entry is None else entry.computed.setdefault(kind, Results(most))
            if entry is not None:
                entry.asked = time.monotonic()
        if results is None:
            return make()
        new: list[R] = []

        def made() -> R:
            new.append(make())
            return new[0]

        value: R = results.get(tuple(rest), made)
        if new:
            self._make_room(key)
        return value

    def _make_room(self, key: str) -> None:
        """Drops what was computed from other uploads, from those first that were asked about longest ago."""
        with self.lock:
            sizes = {name: entry.computed_bytes() for name, entry in self.entries.items()}
            left = sum(sizes.values())
            for name in sorted(sizes, key=lambda name: self.entries[name].asked):
                if left <= self.computed_bytes:
                    break
                if name != key:
                    self.entries[name].drop()
                    left -= sizes[name]

    def forget_computed(self, kind: str) -> None:
        """Drops what was computed of a kind from the uploads, and keeps them."""
        with self.lock:
            for entry in self.entries.values():
                entry.computed.pop(kind, None)

    def remove(self, key: str) -> None:
        """Forgets an upload at once."""
        with self.lock:
            self.entries.pop(key, None)

    def forget(self, visit: str) -> None:
        """Forgets a visit's uploads at once."""
        with self.lock:
            for key in [key for key, entry in self.entries.items() if entry.visit == visit]:
                del self.entries[key]

    def release(self, visit: str) -> None:
        """The visit's connection has ended; its uploads go after a grace, unless it comes back."""
        self._mark(visit, time.monotonic())

    def touch(self, visit: str) -> None:
        """The visit is here."""
        self._mark(visit, None)

    def sweep(self) -> None:
        """Forgets the uploads of visits that have ended."""
        horizon = time.monotonic() - _GRACE_S
        with self.lock:
            for key, entry in list(self.entries.items()):
                if entry.released is not None and entry.released < horizon:
                    del self.entries[key]

    def _mark(self, visit: str, released: float | None) -> None:
        with self.lock:
            for entry in self.entries.values():
                if entry.visit == visit:
                    entry.released = released

    def _bytes(self) -> int:
        return sum(entry.thing.nbytes for entry in self.entries.values())


STORE: Store[np.ndarray] = Store()
STORES: list[Store[Any]] = [STORE]  # with those of other kinds of uploads


def _release(visit: str) -> None:
    for store in STORES:
        store.release(visit)


on_leave(_release)


def keep(visit: Visit, data: bytes) -> str:
    """Decodes and keeps a picture; returns its image key.

    Raises:
        vitviz.data.images.ImageError: if the bytes are no picture that can be shown.
    """
    from vitviz.data.image_worker import decode_in_worker

    image = decode_in_worker(data, _MOST_PIXELS)
    key = STORE.add(image.pixels, visit.token)
    STORE.computed(key, (_OWN_SIZE,), 1, lambda: image.file_size)
    visit.uploads = (*visit.uploads, key)
    return f"upload:{key}"


def own_size(image: str) -> tuple[int, int] | None:
    """(height, width) of an upload as its file had it, which may be larger than what is kept; None where it is gone."""
    key = image.removeprefix("upload:")
    picture = STORE.get(key)
    return None if picture is None else STORE.computed(key, (_OWN_SIZE,), 1, lambda: picture.shape[:2])


def is_mine(visit: Visit, image: str) -> bool:
    """Whether a picture is one that this visit brought; others see it by its link, and none of them may remove it."""
    return STORE.is_of(image.removeprefix("upload:"), visit.token)


def remove(visit: Visit, image: str) -> None:
    """Forgets an upload of this visit at once; another's stays."""
    if is_mine(visit, image):
        STORE.remove(image.removeprefix("upload:"))


def stay(visit: Visit) -> None:
    """Says that a visit is here, so that a dropped connection costs no picture."""
    for store in STORES:
        store.sweep()
        if visit.uploads or visit.weights:
            store.touch(visit.token)

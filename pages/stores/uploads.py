"""Pictures of a visitor's own: in the server's memory for this visit, under an id that nobody can guess.

Nothing is written to disk or sent on. A picture goes when it is removed, when its visit has ended, or when newer
pictures need the room.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np
import streamlit as st
from starlette.formparsers import MultiPartParser
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.shell import state
from pages.stores import own_sets

PRIVACY = (
    "Your picture stays in this server's memory for this visit; whoever has its link sees it too."
    " It is never written to disk or sent on, and you can remove it at once."
)
_PER_VISIT = 4
_TOTAL_BYTES = 256 * 2**20
_LONGEST_SIDE_PX = 2048  # more than any model here reads
_GRACE_S = 120.0  # a dropped connection releases the visit too, and comes back

# While a file arrives, the web server moves what is beyond 1 MB to a temporary file; 0: never, it stays in memory.
# Streamlit stops a body that is longer than server.maxUploadSize, so this is bounded.
MultiPartParser.spool_max_size = 0


class Kept(Protocol):
    """What a store keeps: a picture, or a model."""

    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=Kept)


@dataclass
class _Entry(Generic[T]):
    thing: T
    visit: str
    released: float | None = None


@dataclass
class Store(Generic[T]):
    """The server's uploads of one kind, bounded in number per visit and in bytes altogether."""

    per_visit: int = _PER_VISIT
    total_bytes: int = _TOTAL_BYTES
    entries: dict[str, _Entry[T]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, thing: T, visit: str) -> str:
        """Keeps an upload; the oldest of this visit, then of all, make room."""
        key = secrets.token_urlsafe(16)
        with self.lock:
            mine = [k for k, entry in self.entries.items() if entry.visit == visit]
            for old in mine[: max(0, len(mine) - self.per_visit + 1)]:
                del self.entries[old]
            while self.entries and self._bytes() + thing.nbytes > self.total_bytes:
                del self.entries[next(iter(self.entries))]
            self.entries[key] = _Entry(thing, visit)
        return key

    def get(self, key: str) -> T | None:
        """The upload, or None where it is gone."""
        with self.lock:
            entry = self.entries.get(key)
            return None if entry is None else entry.thing

    def remove(self, key: str) -> None:
        """Forgets an upload at once."""
        with self.lock:
            self.entries.pop(key, None)

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
STORES: list[Store] = [STORE]  # with those of other kinds of uploads


def _release(visit: str) -> None:
    for store in STORES:
        store.release(visit)


@st.cache_resource(scope="session", show_spinner=False, on_release=_release)
def visit() -> str:
    """The secret name of this visit, whose end releases what it uploaded."""
    return secrets.token_urlsafe(8)


def keep(data: bytes) -> str:
    """Decodes and keeps a picture; returns its image key.

    Raises:
        vitviz.data.images.ImageError: if the bytes are no picture that can be shown.
    """
    from vitviz.data.images import decode_image

    picture = _shrunk(decode_image(data))
    key = STORE.add(picture, visit())
    st.session_state[state.UPLOADS] = (*st.session_state.get(state.UPLOADS, ()), key)
    return f"upload:{key}"


def remove(image: str) -> None:
    """Forgets an upload at once."""
    STORE.remove(image.removeprefix("upload:"))


def stay() -> None:
    """Says that this visit is here, so that a dropped connection costs no picture, and no set of them."""
    for store in STORES:
        store.sweep()
    own_sets.stay()
    if st.session_state.get(state.UPLOADS) or st.session_state.get(state.OWN_WEIGHTS):
        for store in STORES:
            store.touch(visit())


def forget_file(file: object) -> None:
    """Drops the raw file that Streamlit holds: the decoded picture is all that is kept."""
    context, file_id = get_script_run_ctx(), getattr(file, "file_id", None)
    if context is not None and file_id is not None:
        context.uploaded_file_mgr.remove_file(context.session_id, file_id)


def _shrunk(picture: np.ndarray) -> np.ndarray:
    longest = max(picture.shape[:2])
    if longest <= _LONGEST_SIDE_PX:
        return picture
    from PIL import Image

    height, width = (max(1, round(side * _LONGEST_SIDE_PX / longest)) for side in picture.shape[:2])
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.LANCZOS))

"""Compute each result once and share it between sessions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar
from weakref import WeakSet

R = TypeVar("R")
_caches: WeakSet[ResultCache[Any]] = WeakSet()


class _Entry(Generic[R]):
    """One cached result; its lock is held while it is computed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: list[R] = []  # empty until it has been computed


class ResultCache(Generic[R]):
    """At most `most` results by key; the least recently used is evicted first.

    Simultaneous requests wait for one computation. A failure is not cached: the next request tries again.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry[R]] = OrderedDict()
        _caches.add(self)

    def get(
        self,
        key: Hashable,
        make: Callable[[], R],
        saying: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> R:
        """Return the result of a key; compute it within `saying()` if it is missing, or wait for it."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry()
                if len(self._entries) > self._most:
                    self._entries.popitem(last=False)
            else:
                self._entries.move_to_end(key)
        if entry.value:
            return entry.value[0]
        with saying(), entry.lock:
            if not entry.value:
                entry.value.append(make())
        return entry.value[0]

    def values(self) -> list[R]:
        """Return the results that are cached now."""
        with self._lock:
            return [value for entry in self._entries.values() for value in entry.value]

    def forget(self, key: Hashable) -> None:
        """Remove one result."""
        with self._lock:
            self._entries.pop(key, None)

    def clear(self) -> None:
        """Remove every result."""
        with self._lock:
            self._entries.clear()


def clear_caches() -> None:
    """Clear every result cache."""
    for results in list(_caches):
        results.clear()

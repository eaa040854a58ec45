"""Compute each result once, share it between sessions, and bound the memory of all results together."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakSet

R = TypeVar("R")
MAX_BYTES = 3 * 2**29  # of all results; twelve of the largest models alone would take 4 GB
_LARGE_BYTES = 2**16  # smaller results are not counted
_requests = itertools.count()
_caches: WeakSet[ResultCache[Any]] = WeakSet()
_caches_lock = threading.Lock()


def count_bytes(tree: object) -> int:
    """Return the bytes of arrays, tensors, models and texts in nested lists, dicts and dataclasses."""
    if isinstance(tree, bytes | str):
        return len(tree)
    if isinstance(size := getattr(tree, "nbytes", None), int):
        return size
    if isinstance(tree, dict):
        return sum(map(count_bytes, tree.values()))
    if isinstance(tree, list | tuple):
        return sum(map(count_bytes, tree))
    if is_dataclass(tree) and not isinstance(tree, type):
        return sum(count_bytes(getattr(tree, part.name)) for part in fields(tree))
    if callable(parameters := getattr(tree, "parameters", None)):  # a model's
        return sum(map(count_bytes, parameters()))
    return 0


class _CachedResult(Generic[R]):
    """One cached result; its lock is held while it is computed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: list[R] = []  # empty until it has been computed
        self.size = 0  # bytes of a large result
        self.request = 0  # number of the last request for it


class ResultCache(Generic[R]):
    """At most `most` results by key; the least recently used is evicted first, of all caches if they are too large.

    Simultaneous requests wait for one computation. A failure is not cached: the next request tries again.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _CachedResult[R]] = OrderedDict()
        with _caches_lock:
            _caches.add(self)

    def get(
        self,
        key: Hashable,
        make: Callable[[], R],
        progress: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> R:
        """Return the result of a key; compute it within `progress()` if it is missing, or wait for it."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _CachedResult()
                if len(self._entries) > self._most:
                    self._entries.popitem(last=False)
            else:
                self._entries.move_to_end(key)
            entry.request = next(_requests)
        if entry.value:
            return entry.value[0]
        with progress(), entry.lock:
            if entry.value:
                return entry.value[0]
            entry.value.append(make())
            size = count_bytes(entry.value)
        if size > _LARGE_BYTES:
            entry.size = size
            _make_room(entry)
        return entry.value[0]

    def forget(self, key: Hashable) -> None:
        with self._lock:
            self._entries.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()

    def list_large(self) -> list[tuple[_CachedResult[R], ResultCache[R], Hashable]]:
        """Return the entries whose bytes are counted, with this cache and their keys."""
        with self._lock:
            return [(entry, self, key) for key, entry in self._entries.items() if entry.size]


def _make_room(newest: _CachedResult[Any]) -> None:
    """Remove the least recently used results of all caches until the others fit."""
    large = [place for results in _list_caches() for place in results.list_large()]
    total = sum(entry.size for entry, _, _ in large)
    for entry, results, key in sorted(large, key=lambda place: place[0].request):
        if total <= MAX_BYTES:
            return
        if entry is not newest:
            results.forget(key)
            total -= entry.size


def _list_caches() -> list[ResultCache[Any]]:
    with _caches_lock:  # an upload adds a cache in its own thread
        return list(_caches)


def clear_caches() -> None:
    for results in _list_caches():
        results.clear()

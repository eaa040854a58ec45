"""Results that several visits ask for: computed once, kept while they are in use, shared as they are."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar
from weakref import WeakSet

R = TypeVar("R")
_all: WeakSet[Results[Any]] = WeakSet()


class _Place(Generic[R]):
    """Of one result: who computes it holds the lock, and whoever else wants it waits there."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: list[R] = []  # empty until it has been computed


class Results(Generic[R]):
    """Results by key, at most `most`: the one that was asked for longest ago goes first.

    A class that opens the same page waits for one computation. What fails is not kept: the next in line tries again.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._places: OrderedDict[Hashable, _Place[R]] = OrderedDict()
        _all.add(self)

    def get(
        self,
        key: Hashable,
        make: Callable[[], R],
        saying: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> R:
        """The result of a key; `make` computes it where it is not here, within `saying()`, as does waiting for it."""
        with self._lock:
            place = self._places.get(key)
            if place is None:
                place = self._places[key] = _Place()
                if len(self._places) > self._most:
                    self._places.popitem(last=False)
            else:
                self._places.move_to_end(key)
        if place.value:
            return place.value[0]
        with saying(), place.lock:
            if not place.value:
                place.value.append(make())
        return place.value[0]

    def values(self) -> list[R]:
        """What is here now."""
        with self._lock:
            return [value for place in self._places.values() for value in place.value]

    def forget(self, key: Hashable) -> None:
        """Forgets one result."""
        with self._lock:
            self._places.pop(key, None)

    def clear(self) -> None:
        """Forgets every result."""
        with self._lock:
            self._places.clear()


def forget() -> None:
    """As if nothing had been computed."""
    for results in list(_all):
        results.clear()

"""Results that several sessions ask for: one computation, a bounded number, and nothing kept that failed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pages.stores import shared_cache
from pages.stores.shared_results import ResultCache
from vitviz.experiments.result_file import Result


def test_thirty_who_ask_for_the_same_wait_for_one_computation() -> None:
    results: ResultCache[object] = ResultCache(4)
    asked, begun, made = threading.Barrier(30), threading.Event(), []

    def make() -> object:
        begun.wait(60)  # until all others have asked
        made.append(object())
        return made[-1]

    def ask(number: int) -> object:
        if asked.wait(60) == 0:
            begun.set()
        return results.get("the same", make)

    with ThreadPoolExecutor(30) as class_of_thirty:
        got = list(class_of_thirty.map(ask, range(30)))
    assert len(made) == 1
    assert all(one is made[0] for one in got)


def test_who_asks_for_something_else_does_not_wait() -> None:
    results: ResultCache[str] = ResultCache(4)
    free = threading.Event()
    slow = threading.Thread(target=results.get, args=("slow", lambda: str(free.wait(60))))
    slow.start()
    assert results.get("quick", lambda: "quick") == "quick"
    assert slow.is_alive()
    free.set()
    slow.join(60)


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    results: ResultCache[int] = ResultCache(2)
    numbers = iter(range(9))
    for key in ("a", "b", "a", "c"):
        results.get(key, lambda: next(numbers))
    assert [results.get(key, lambda: next(numbers)) for key in ("a", "c", "b")] == [0, 2, 3]


def test_what_fails_is_tried_again() -> None:
    results: ResultCache[int] = ResultCache(2)
    with pytest.raises(ZeroDivisionError):
        results.get("key", lambda: 1 // 0)
    assert results.get("key", lambda: 7) == 7
    results.forget("key")
    assert results.get("key", lambda: 8) == 8


def test_arrays_count_by_their_content_and_marked_arguments_do_not() -> None:
    calls = []

    @shared_cache.shared(max_entries=8)
    def total(values: np.ndarray, _note: str) -> float:
        calls.append(_note)
        return float(values.sum())

    assert total(np.arange(3.0), "first") == total(np.arange(3.0), "again") == 3.0
    assert total(np.arange(3), "whole numbers") == total(np.arange(3.0)[::-1], "turned") == 3.0
    assert calls == ["first", "whole numbers", "turned"]
    total.forget(np.arange(3.0), "any")
    total(np.arange(3.0), "forgotten")
    assert calls[-1] == "forgotten"


def test_lists_of_arrays_count_too() -> None:
    @shared_cache.shared(max_entries=8)
    def count(values: list[np.ndarray], _mark: object) -> object:
        return _mark

    first = count([np.zeros(2), np.ones(2)], 1)
    assert count([np.zeros(2), np.ones(2)], 2) is first
    assert count([np.ones(2), np.zeros(2)], 3) == 3


def test_rows_are_found_though_another_thread_sorts_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.12's `cached_property` has no lock: the other thread's dict may replace this one's."""
    monkeypatch.setattr(Result, "_sorted", property(lambda stored: {}))
    stored = Result("name", "title", "command", {}, (), ({"seed": 1}, {"seed": 2}))
    assert stored.where(seed=2) == [{"seed": 2}]

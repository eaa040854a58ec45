"""What is computed from uploads is bounded in bytes, whoever brought them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from pages.stores.uploads import Store, count_bytes


@dataclass(frozen=True)
class Found:
    attention: np.ndarray
    names: list[str]
    share: float = 0.5


def test_memory_is_that_of_arrays_tensors_and_texts() -> None:
    assert count_bytes(np.zeros((2, 3), np.float32)) == 24 and count_bytes(torch.zeros(5)) == 20
    assert count_bytes(b"four") == 4 and count_bytes(0.5) == count_bytes(None) == 0
    assert count_bytes({"a": [np.zeros(2), (np.zeros(1),)]}) == 24
    assert count_bytes(Found(np.zeros(10, np.uint8), ["ab", "c"])) == 13


def test_what_was_asked_about_longest_ago_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    store: Store[np.ndarray] = Store(per_user=3, computed_bytes=250)
    made: list[str] = []
    keys = dict.fromkeys("abc")
    for name in keys:
        keys[name] = store.add(np.zeros(1), "ann")

    def ask(name: str) -> None:
        def make() -> np.ndarray:
            made.append(name)
            return np.zeros(100, np.uint8)

        store.computed(keys[name], ("attention", 1), 4, make)
        store.computed(keys[name], ("own size",), 1, lambda: made.append("size") or (9, 9))

    for name in "abab":
        ask(name)
    assert made == ["a", "size", "b", "size"]  # both fit
    ask("a")
    ask("c")  # 300 bytes of 250: b's go
    assert store.get(keys["b"]) is not None
    made.clear()
    for name in "ac":
        ask(name)
    assert made == []
    ask("b")
    assert made == ["b"]  # computed again; what cannot be was kept


def test_one_that_is_larger_than_all_may_be_is_still_given() -> None:
    store: Store[np.ndarray] = Store(computed_bytes=10)
    key = store.add(np.zeros(1), "ann")
    for _ in range(2):
        assert len(store.computed(key, ("attention",), 1, lambda: np.zeros(100))) == 100

"""What is computed from uploads is bounded in bytes, whoever brought them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from pages.stores.uploads import Store, StoreFull, count_bytes, open_tab


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


def fill_from_six_sessions(store: Store[np.ndarray]) -> None:
    """Upload 22 images of 12 bytes, as six fresh sessions may."""
    for number in range(22):
        with suppress(StoreFull):
            store.add(np.zeros(12, np.uint8), f"attacker {number % 6}")


def test_the_largest_holder_makes_room_first() -> None:
    """A stranger's small image was pushed out as the oldest."""
    store: Store[np.ndarray] = Store(total_bytes=200)
    small = store.add(np.zeros(2, np.uint8), "stranger")
    fill_from_six_sessions(store)
    assert store.get(small) is not None
    assert sum(entry.content.nbytes for entry in store.entries.values()) <= 200


def test_an_image_on_somebodys_screen_is_never_evicted() -> None:
    store: Store[np.ndarray] = Store(total_bytes=200)
    tabs = [open_tab() for _ in range(2)]
    images = [store.add(np.zeros(90, np.uint8), f"user {number}") for number in range(2)]
    for tab, image in zip(tabs, images, strict=True):
        tab.keys = frozenset({image})
    fill_from_six_sessions(store)
    assert all(store.get(image) is not None for image in images)
    before = dict(store.entries)
    with pytest.raises(StoreFull, match="try again later"):
        store.add(np.zeros(30, np.uint8), "another")
    assert store.entries == before, "a refused upload evicts nothing"
    del tab, tabs[1]  # the tab's session has ended
    store.add(np.zeros(30, np.uint8), "another")
    assert store.get(images[0]) is not None and store.get(images[1]) is None


def test_a_users_own_oldest_makes_room_unless_it_is_open() -> None:
    store: Store[np.ndarray] = Store(per_user=2)
    tab, first = open_tab(), store.add(np.zeros(1), "ann")
    tab.keys = frozenset({first})
    second, third = store.add(np.zeros(1), "ann"), store.add(np.zeros(1), "ann")
    assert store.get(first) is not None and store.get(second) is None and store.get(third) is not None

"""What is computed from uploads is bounded in bytes, whoever brought them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from weakref import WeakSet

import numpy as np
import pytest
import torch

from pages.stores import shared_results, uploads
from pages.stores.session import StoredKind, UserSession
from pages.stores.shared_results import ResultCache, count_bytes
from pages.stores.uploads import Store, StoreFull, open_tab


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
    assert count_bytes({"model": torch.nn.Linear(10, 3)}) == 4 * 33


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> int:
    """Bound all results together to 250,000 bytes."""
    shared_results.clear_caches()
    monkeypatch.setattr(shared_results, "MAX_BYTES", 250_000)
    return 250_000


def test_the_least_recently_used_of_all_results_makes_room(room: int) -> None:
    """Twelve models of 330 MB and 24 images' activations of 150 MB were kept for everybody."""
    store: Store[np.ndarray] = Store(per_user=3)
    everybody: ResultCache[np.ndarray] = ResultCache(12)
    made: list[str] = []
    upload = store.add(np.zeros(1), "ann")

    def make(name: str, size: int = 100_000) -> np.ndarray:
        made.append(name)
        return np.zeros(size, np.uint8)

    def ask(name: str) -> None:
        if name == "upload":
            store.computed(upload, ("attention", 1), 4, lambda: make(name))
            store.computed(upload, ("own size",), 1, lambda: make("size", 2))
        else:
            everybody.get(name, lambda: make(name))

    for name in ("upload", "a", "upload", "a"):
        ask(name)
    assert made == ["upload", "size", "a"]  # both fit
    ask("b")  # 300,000 bytes: what was computed from the upload goes
    made.clear()
    for name in ("a", "b"):
        ask(name)
    assert made == []
    ask("upload")
    assert made == ["upload"]  # computed again; what is small was kept
    made.clear()
    ask("a")
    assert made == ["a"]


def test_one_that_is_larger_than_all_may_be_is_still_given(room: int) -> None:
    store: Store[np.ndarray] = Store()
    key = store.add(np.zeros(1), "ann")
    for _ in range(2):
        assert len(store.computed(key, ("attention",), 1, lambda: np.zeros(room))) == room


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
    tab.keys = frozenset({first, third})
    with pytest.raises(
        StoreFull, match="You may keep 2 uploads of this kind, and all of yours are open in your tabs"
    ):
        store.add(np.zeros(1), "ann")


def test_a_cache_that_an_upload_adds_does_not_end_anothers_search_for_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Interrupted(WeakSet[ResultCache[object]]):
        def __iter__(self) -> Iterator[ResultCache[object]]:
            for number, results in enumerate(super().__iter__()):
                yield results
                if number == 0:
                    upload.start()
                    upload.join(0.05)

    caches = [ResultCache[object](1) for _ in range(2)]
    upload = threading.Thread(target=lambda: caches.append(ResultCache(1)))
    monkeypatch.setattr(shared_results, "_caches", Interrupted(caches))
    caches[0].get("large", lambda: np.zeros(2**17, np.uint8))
    upload.join()


def test_an_upload_is_replaced_at_once_beside_the_users_others() -> None:
    """It was removed first: a page that another tab drew meanwhile forgot it."""
    store: Store[np.ndarray] = Store(per_user=2)
    for key, value in (("a", 0), ("b", 0), ("b", 1)):
        store.lend(key, np.full(1, value), "user")
    assert [int(entry.content[0]) for entry in store.entries.values()] == [0, 1]


@pytest.mark.parametrize("kind", ["uploads", "weights", "recorded"])
def test_who_comes_back_keeps_an_upload_of_any_kind(
    monkeypatch: pytest.MonkeyPatch, kind: StoredKind
) -> None:
    store: Store[np.ndarray] = Store()
    monkeypatch.setattr(uploads, "STORES", [store])
    user = UserSession("ann")
    key = store.add(np.zeros(1), user.token)
    user.update(kind, [key])
    store.release(user.token)
    uploads.mark_active(user)
    assert store.entries[key].released is None

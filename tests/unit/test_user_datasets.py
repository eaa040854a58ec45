"""Who brought a set of images may remove it; who has its link may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pages.stores import runs, user_datasets
from pages.stores.session import UserSession
from pages.train.lab import flip_book, snapshots
from tests.files import class_images, zipped
from vitviz.config import Preparation
from vitviz.data import dataset_zip, uploaded_datasets
from vitviz.data.dataset import DatasetError
from vitviz.upload_limits import UPLOADS_PER_ADDRESS, UPLOADS_PER_USER


def archive() -> bytes:
    return zipped(class_images({"a": (90, 90, 90), "b": (120, 90, 60)}, count=6, side=16))


def test_a_link_to_a_set_does_not_remove_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path))
    maker, guest = UserSession("m" * 22), UserSession("g" * 22)
    note = user_datasets.store_dataset(maker, archive(), "pets", 16)
    assert maker.token not in (tmp_path / "sets" / f"{note.name[4:]}.json").read_text()
    assert user_datasets.adopt_dataset(guest, note.name)
    assert user_datasets.may_remove(maker, note) and not user_datasets.may_remove(guest, note)
    user_datasets.remove_dataset(guest, note.name)
    assert guest.datasets == () and uploaded_datasets.read_note(note.name, tmp_path) == note
    user_datasets.remove_dataset(maker, note.name)
    assert uploaded_datasets.read_note(note.name, tmp_path) is None


def test_a_removed_set_leaves_no_image_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lab's own button alone let its images go; removed on the page of fine-tuning they stayed."""
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path))
    maker = UserSession("m" * 22)
    note = user_datasets.store_dataset(maker, archive(), "pets", 16)
    held = snapshots.load_held_out(note.name, 0.5, Preparation(image_size=16))
    assert held is not None and snapshots.load_held_out(note.name, 0.5, Preparation(image_size=16)) is held
    assert uploaded_datasets._read.cache_info().currsize
    user_datasets.remove_dataset(maker, note.name)
    assert snapshots.load_held_out(note.name, 0.5, Preparation(image_size=16)) is None
    assert (
        not uploaded_datasets._read.cache_info().currsize
        and flip_book.clear_caches in user_datasets._removing
    )


def test_two_tabs_together_store_no_more_than_one_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each tab counted before it decoded, so that two of them passed the limit together."""
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path))
    monkeypatch.setattr(user_datasets, "DATASETS_PER_USER", 1)
    maker, decode = UserSession("m" * 22), dataset_zip.load_zip

    def decode_beside_another_tab(*args: Any, **options: Any) -> dataset_zip.UploadedImages:
        monkeypatch.setattr(dataset_zip, "load_zip", decode)
        user_datasets.store_dataset(maker, archive(), "second tab", 16)
        return decode(*args, **options)

    monkeypatch.setattr(dataset_zip, "load_zip", decode_beside_another_tab)
    with pytest.raises(DatasetError, match="You have 1 dataset already"):
        user_datasets.store_dataset(maker, archive(), "first tab", 16)
    assert [note.title for note in user_datasets.list_datasets(maker).values()] == ["second tab"]
    assert len([*(tmp_path / "sets").glob("*.npz")]) == 1


def test_thirteen_sets_in_an_hour_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh sessions of one address could fill for everybody what the server keeps of sets."""
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path))
    monkeypatch.setattr(runs, "_intakes", {})
    maker = UserSession("m" * 22)
    for _ in range(UPLOADS_PER_USER):
        user_datasets.remove_dataset(maker, user_datasets.store_dataset(maker, archive(), "pets", 16).name)
    with pytest.raises(DatasetError, match="12 sets came from you within an hour"):
        user_datasets.store_dataset(maker, archive(), "pets", 16)
    for place in range(UPLOADS_PER_ADDRESS):
        runs.admit_upload(UserSession(f"{place:022}"), "10.0.0.1", "set")
    with pytest.raises(DatasetError, match="120 sets came from your network"):
        user_datasets.store_dataset(UserSession("n" * 22), archive(), "pets", 16, address="10.0.0.1")

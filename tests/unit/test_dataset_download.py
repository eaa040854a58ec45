"""A dataset is fetched by one process at a time; the others wait for its file."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from vitviz.data import dataset_download
from vitviz.data.dataset import Dataset
from vitviz.data.dataset_cache import data_file, write_dataset
from vitviz.data.datasets import load_dataset


def test_of_two_servers_one_fetches_and_the_other_says_that_it_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITVIZ_DATA", str(tmp_path))
    digits = replace(load_dataset("digits"), name="mnist")
    fetched: list[str] = []
    waits = threading.Event()

    def fetch(name: str, target: Path, report: dataset_download.ShareProgress) -> Dataset:
        fetched.append(name)
        assert waits.wait(240)
        write_dataset(digits, target)
        return digits

    def heard(share: float, what: str) -> None:
        if "another process" in what:
            waits.set()

    monkeypatch.setattr(dataset_download, "_download", fetch)
    with ThreadPoolExecutor(2) as pool:  # the lock tells two threads apart as it does two processes
        found = list(pool.map(lambda _: dataset_download.download_dataset("mnist", heard), range(2)))
    assert fetched == ["mnist"] and {len(one.train_images) for one in found} == {len(digits.train_images)}
    assert (
        dataset_download.download_dataset("mnist", heard) is digits and len(fetched) == 2
    )  # asked for anew, it is fetched
    assert data_file("mnist").is_file()

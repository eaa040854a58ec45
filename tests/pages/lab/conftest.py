"""The lab's runs go to a folder of the test, and nothing is trained behind its back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.stores import shared_results
from tests.pages.lab.helpers import FakeExecutor


@pytest.fixture
def folder(tmp_path: Path, no_shipped_checkpoints: Path) -> Iterator[Path]:
    shared_results.clear_caches()
    path = tmp_path / "runs"
    path.mkdir()
    yield path
    shared_results.clear_caches()


@pytest.fixture
def executor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> FakeExecutor:
    from pages.stores import runs

    fake = FakeExecutor(folder)
    monkeypatch.setattr(runs, "get_executor", lambda: fake)
    return fake

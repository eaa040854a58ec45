"""The lab's runs go to a folder of the test, and nothing is trained behind its back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.stores import shared_results
from tests.pages.lab.helpers import CONFIG, FakeExecutor
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session


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


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of one epoch; a file may put another one in its place."""
    run = Run.create(tmp_path_factory.mktemp("trained"), CONFIG)
    assert Session(run, device="cpu").perform().state == "done"
    return run


@pytest.fixture
def run(trained: Run, folder: Path, executor: FakeExecutor) -> Run:
    """The trained run in this test's folder."""
    return Run(shutil.copytree(trained.directory, folder / trained.id))

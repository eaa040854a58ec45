"""A run that is done, trained once a file."""

from __future__ import annotations

import pytest

from tests.robustness.run_files import new_run
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = new_run(tmp_path_factory.mktemp("runs"))
    assert Session(run, "cpu").perform().state == "done"
    return run

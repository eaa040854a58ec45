"""Runs from outside are counted by visit and by address, and an hour later they count no more."""

from __future__ import annotations

import pytest

from vitviz.training import run_archive
from vitviz.training.run_archive import Intake
from vitviz.training.run_directory import RunError


def test_a_session_and_an_address_bring_so_many_runs_an_hour() -> None:
    clock = [0.0]
    taken = Intake(now=lambda: clock[0])
    for _ in range(run_archive.UPLOADS_PER_USER):
        taken.admit("ann", "10.0.0.1")
    with pytest.raises(RunError, match="12 runs came from you within an hour"):
        taken.admit("ann", "10.0.0.2")
    for i in range(run_archive.UPLOADS_PER_ADDRESS - run_archive.UPLOADS_PER_USER):
        taken.admit(f"visit {i}", "10.0.0.1")  # sessions are free: a new one for every upload
    with pytest.raises(RunError, match="120 runs came from your network"):
        taken.admit("bob", "10.0.0.1")
    taken.admit("bob", "10.0.0.3")
    taken.admit("carl")  # from nowhere known
    clock[0] = run_archive.UPLOAD_WINDOW_S
    taken.admit("ann", "10.0.0.1")
    assert len(taken._taken) == 1  # what is past is forgotten

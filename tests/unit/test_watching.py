"""Whose watching keeps a run: its maker's from its lease, anybody's from being swept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pages.stores import runs
from pages.stores.session import UserSession
from tests.unit.training_helpers import digits_run
from vitviz.training.run_directory import Run


def test_only_its_maker_renews_a_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path))
    maker, guest = UserSession("m" * 22), UserSession("g" * 22)
    run = Run.create(tmp_path, replace(digits_run(tmp_path).config(), owner=maker.owner))
    lease, seen = (run.directory / name for name in ("lease.json", "seen.json"))
    assert runs.adopt_run(guest, run.id)
    runs.mark_active(guest)
    assert seen.exists() and not lease.exists()
    runs.mark_active(maker)
    assert lease.exists()

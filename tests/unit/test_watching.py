"""Whose watching keeps a run: its maker's from its lease, anybody's from being swept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pages.stores import runs
from pages.stores.session import Visit
from tests.unit.training_helpers import digits_run
from vitviz.training.run_directory import Run


def test_only_its_maker_renews_a_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path))
    maker, guest = Visit("m" * 22), Visit("g" * 22)
    run = Run.create(tmp_path, replace(digits_run(tmp_path).config(), owner=maker.owner))
    lease, seen = (run.directory / name for name in ("lease.json", "seen.json"))
    assert runs.adopt(guest, run.id)
    runs.watch(guest)
    assert seen.exists() and not lease.exists()
    runs.watch(maker)
    assert lease.exists()

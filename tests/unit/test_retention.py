"""Which runs go when the folder is old or full, and that only one server removes each."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.unit.training_helpers import digits_run
from vitviz.training import retention
from vitviz.training.atomic_files import write_status
from vitviz.training.retention import Limits, Stored, list_stored_runs, plan, remove, sweep
from vitviz.training.run_directory import Run, list_runs

NOW = 2_000_000_000.0
DAY = 86_400.0
LIMITS = Limits(age_s=10 * DAY, stored_bytes=100)


def stored(name: str, days: float, size: int = 10, under_way: bool = False) -> Stored:
    return Stored(name, size, NOW - days * DAY, under_way)


def test_what_nobody_used_for_long_goes() -> None:
    assert plan([stored("new", 1), stored("old", 11), stored("older", 20)], LIMITS, NOW) == ["older", "old"]


def test_the_longest_unused_go_until_the_rest_fits() -> None:
    runs = [stored("a", 1, 60), stored("b", 3, 40), stored("c", 2, 40), stored("d", 4, 1)]
    assert plan(runs, LIMITS, NOW) == ["d", "b"]


def test_what_is_under_way_or_watched_never_goes() -> None:
    runs = [stored("trains", 30, 500, under_way=True), stored("watched", 0.001, 500), stored("idle", 1, 1)]
    assert plan(runs, LIMITS, NOW) == ["idle"]


def test_settings_are_the_operators() -> None:
    assert Limits.from_environment({}) == Limits(14 * DAY, 20e9)
    assert Limits.from_environment({"VITVIZ_RUNS_DAYS": "0.5", "VITVIZ_RUNS_GB": " 3 "}) == Limits(
        DAY / 2, 3e9
    )
    for wrong in ("0", "-1", "nan", "inf", "many"):
        with pytest.raises(ValueError, match="VITVIZ_RUNS_GB must be a positive number"):
            Limits.from_environment({"VITVIZ_RUNS_GB": wrong})


def aged(root: Path, days: float, state: str = "done") -> Run:
    run = digits_run(root)
    run.touch_lease()
    write_status(
        run.directory / "status.json", asdict(replace(run.status(), state=state, heartbeat=NOW - days * DAY))
    )
    for path in (run.directory / "lease.json", run.directory / "config.json"):
        os.utime(path, (NOW - days * DAY,) * 2)
    return run


def test_a_folder_is_swept(tmp_path: Path) -> None:
    old, new, queued = aged(tmp_path, 20), aged(tmp_path, 1), aged(tmp_path, 0.5, "queued")
    forgotten = aged(tmp_path, 20, "queued")  # by a server that is gone
    for name in (".new-x", ".gone-y"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (NOW - 7200,) * 2)
    (tmp_path / "sets").mkdir()
    assert set(sweep(tmp_path, Limits(10 * DAY, 1e9), NOW)) == {old.id, forgotten.id}
    assert {path.name for path in tmp_path.iterdir()} == {new.id, queued.id, "sets"}
    assert sweep(tmp_path, Limits(10 * DAY, 1), NOW) == [new.id]  # too small a folder: the queued one stays
    assert [run.id for run in list_runs(tmp_path)] == [queued.id]


def test_a_run_that_others_look_at_stays_and_its_lease_does_not_go_on(tmp_path: Path) -> None:
    run = aged(tmp_path, 20)
    leased = (run.directory / "lease.json").stat().st_mtime
    run.touch_seen()
    os.utime(run.directory / "seen.json", (NOW - 60,) * 2)
    assert sweep(tmp_path, Limits(10 * DAY, 1), NOW) == []
    assert (run.directory / "lease.json").stat().st_mtime == leased


def test_several_servers_remove_each_run_once(tmp_path: Path) -> None:
    for _ in range(12):
        aged(tmp_path, 20)
    with ThreadPoolExecutor(4) as pool:
        removed = sum(pool.map(lambda _: sweep(tmp_path, Limits(10 * DAY, 1e9), NOW), range(4)), [])
    assert len(removed) == len(set(removed)) == 12 and list(tmp_path.iterdir()) == []


def test_a_run_that_is_taken_up_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = aged(tmp_path, 20)
    chosen = plan(list_stored_runs(tmp_path, NOW), LIMITS, NOW)
    look, looks = retention._describe_run, []

    def taken_up(at: Run, now: float) -> Stored:
        looks.append(at.directory.name)
        return replace(look(at, now), under_way=len(looks) == 2)  # between the look and the rename

    monkeypatch.setattr(retention, "_describe_run", taken_up)
    assert chosen == [run.id] and remove(tmp_path, chosen, NOW) == []
    assert looks == [run.id, f".gone-{run.id}"] and [found.id for found in list_runs(tmp_path)] == [run.id]
    assert remove(tmp_path, [run.id, "never-there"], NOW) == [run.id]


def test_a_wrong_setting_is_logged_once_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from pages.frame import startup

    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path))
    monkeypatch.setenv("VITVIZ_RUNS_DAYS", "a fortnight")
    startup.remove_expired()
    startup.remove_expired()
    assert [
        record.getMessage() for record in caplog.records if "VITVIZ_RUNS_DAYS" in record.getMessage()
    ] == ["old runs are not removed: $VITVIZ_RUNS_DAYS must be a positive number, received 'a fortnight'"]
    monkeypatch.setenv("VITVIZ_RUNS_DAYS", "1")
    aged(tmp_path, 20_000)
    startup.remove_expired()
    assert not list_runs(tmp_path)

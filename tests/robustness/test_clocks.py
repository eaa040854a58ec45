"""A clock that jumps by hours ends nothing that lives and keeps nothing that is dead."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from tests.robustness.clocks import HOUR_S, Clocks, set_clocks, written_now
from tests.unit.training_helpers import digits_run
from vitviz.data import uploaded_datasets
from vitviz.data.dataset import Dataset
from vitviz.data.dataset_zip import UploadedImages
from vitviz.training import retention, run_lock
from vitviz.training.atomic_files import write_status
from vitviz.training.records import StepRecord
from vitviz.training.retention import Limits, sweep
from vitviz.training.run_directory import Run, Status, list_runs
from vitviz.training.run_trainer import Session

DAY_S = 24 * HOUR_S
JUMPS = pytest.mark.parametrize("jump_s", [3 * HOUR_S, -3 * HOUR_S, 3 * DAY_S, -3 * DAY_S])


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clocks]:
    with set_clocks(monkeypatch) as found:
        yield found


def beat(run: Run, host: str = "") -> None:
    """What a trainer writes every five seconds."""
    returned = Status("running", pid=os.getpid(), host=host, heartbeat=time.time())
    write_status(run.directory / "status.json", asdict(returned))


@JUMPS
@pytest.mark.parametrize("host", ["", "another"])
def test_a_trainer_that_lives_is_not_called_dead_and_one_that_died_is(
    tmp_path: Path, clocks: Clocks, jump_s: float, host: str
) -> None:
    run = digits_run(tmp_path)
    beat(run, host)
    assert run.status().state == "running"
    clocks.jumped += jump_s
    assert run.status().state == "running"  # its next word comes within five seconds
    for _ in range(6):
        clocks.passed += 5
        beat(run, host)
        assert run.status().state == "running"
    clocks.passed += 21
    assert run.status().state == "interrupted"


def test_a_word_from_the_future_does_not_keep_a_dead_trainer_alive(tmp_path: Path, clocks: Clocks) -> None:
    run = digits_run(tmp_path)
    clocks.jumped = 3 * HOUR_S
    beat(run)
    clocks.jumped = 0
    assert run.status().state == "running"  # a first look cannot know
    clocks.passed += 21
    assert run.status().state == "interrupted"


def test_a_machine_whose_clock_is_slow_lives_for_who_looks_on(tmp_path: Path, clocks: Clocks) -> None:
    run = digits_run(tmp_path)
    states = []
    for _ in range(3):
        clocks.jumped = -60
        beat(run, "another")
        clocks.jumped = 0
        states.append(run.status().state)
        clocks.passed += 5
    assert states[1:] == ["running", "running"]


@JUMPS
def test_a_run_is_not_taken_from_a_server_that_lives(tmp_path: Path, clocks: Clocks, jump_s: float) -> None:
    assert run_lock.claim_run(tmp_path, "mine")
    written_now(tmp_path / "claim.json")
    assert run_lock.is_held(tmp_path)
    clocks.jumped += jump_s
    assert not run_lock.claim_run(tmp_path, "another's")
    for _ in range(6):
        clocks.passed += run_lock.BEAT_S
        assert run_lock.renew(tmp_path, "mine") and not run_lock.claim_run(tmp_path, "another's")
    clocks.passed += run_lock.STALE_S + 1
    assert run_lock.claim_run(tmp_path, "another's")


def test_a_claim_from_the_future_is_taken_over_when_its_holder_is_silent(
    tmp_path: Path, clocks: Clocks
) -> None:
    assert run_lock.claim_run(tmp_path, "dead")
    clocks.jumped = 3 * HOUR_S
    written_now(tmp_path / "claim.json")
    clocks.jumped = 0
    assert not run_lock.claim_run(tmp_path, "mine")
    clocks.passed += run_lock.STALE_S + 1
    assert run_lock.claim_run(tmp_path, "mine")


@JUMPS
def test_a_run_whose_maker_watches_trains_on(tmp_path: Path, clocks: Clocks, jump_s: float) -> None:
    """A laptop that slept: the lease is hours old when it wakes, and the page says so within seconds."""
    run = leased(tmp_path)
    steps: list[int] = []

    def slept(event: object, trainer: object) -> None:
        if isinstance(event, StepRecord):
            steps.append(event.step)
            clocks.jumped = jump_s if len(steps) >= 3 else 0.0
            clocks.passed += 20  # so that the lease is looked at after every step
            if len(steps) % 10 == 9:
                run.touch_lease()

    assert Session(run, "cpu", listen=slept).perform().state == "done"
    assert len(steps) > 20


@JUMPS
def test_a_run_that_nobody_watches_ends_all_the_same(tmp_path: Path, clocks: Clocks, jump_s: float) -> None:
    run = leased(tmp_path)

    def slept(event: object, trainer: object) -> None:
        clocks.jumped = jump_s
        clocks.passed += 20

    status = Session(run, "cpu", listen=slept).perform()
    assert status.state == "stopped" and "no browser" in status.message


def leased(root: Path) -> Run:
    run = digits_run(root, epochs=20)
    made = Run.create(root, replace(run.config(), lease_s=300.0, created=0.0))
    made.touch_lease()
    written_now(made.directory / "lease.json")
    return made


def test_a_machine_that_slept_for_weeks_removes_nothing_that_is_looked_at(
    tmp_path: Path, clocks: Clocks
) -> None:
    looked_at, forgotten = digits_run(tmp_path), digits_run(tmp_path)
    limits = Limits(age_s=14 * DAY_S, stored_bytes=1e9)
    for run in (looked_at, forgotten):
        run.touch_lease()
    assert sweep(tmp_path, limits) == []
    clocks.jumped = 20 * DAY_S
    assert sweep(tmp_path, limits) == []  # before any page has reported that it watches
    looked_at.touch_lease()
    clocks.passed += retention.WATCHED_S + 1
    assert sweep(tmp_path, limits) == [forgotten.id]
    assert [run.id for run in list_runs(tmp_path)] == [looked_at.id]


def test_a_run_of_a_clock_that_was_wrong_stays_unless_its_room_is_needed(
    tmp_path: Path, clocks: Clocks
) -> None:
    run = digits_run(tmp_path)
    clocks.jumped = 400 * DAY_S
    written_now(run.directory / "config.json")
    beat(run)  # of a trainer that died
    clocks.jumped = 0
    assert sweep(tmp_path, Limits(DAY_S, 1e9)) == []
    clocks.passed += 60
    assert sweep(tmp_path, Limits(DAY_S, 1e9)) == []
    assert sweep(tmp_path, Limits(DAY_S, 1)) == [run.id]


def some_pictures() -> UploadedImages:
    images, labels = np.zeros((4, 16, 16, 3), np.uint8), np.array([0, 0, 1, 1])
    return UploadedImages(Dataset("own", images, labels, images, labels, ("a", "b")), ())


@JUMPS
def test_a_set_that_is_in_use_is_not_removed_and_one_that_is_not_goes(
    tmp_path: Path, clocks: Clocks, jump_s: float
) -> None:
    used, unused = (uploaded_datasets.store_images(some_pictures(), "mine", tmp_path) for _ in range(2))
    clocks.jumped = 3 * jump_s
    uploaded_datasets.sweep(tmp_path)
    assert uploaded_datasets.read_note(used.name, tmp_path) and uploaded_datasets.read_note(
        unused.name, tmp_path
    )
    clocks.passed += uploaded_datasets.SETTLE_S + 1
    uploaded_datasets.touch(used.name, tmp_path)
    uploaded_datasets.sweep(tmp_path)  # a time that has yet to come is now's from here on
    clocks.passed += uploaded_datasets.KEEP_S - 60
    uploaded_datasets.touch(used.name, tmp_path)
    clocks.passed += 120
    uploaded_datasets.sweep(tmp_path)
    assert (
        uploaded_datasets.read_note(used.name, tmp_path)
        and uploaded_datasets.read_note(unused.name, tmp_path) is None
    )

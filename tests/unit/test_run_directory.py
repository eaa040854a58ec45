"""The run directory: written whole, read while it grows, steered by lines, resumed step for step."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.training_helpers import (
    TINY,
    command_at,
    digits_run,
    duplicate,
    of_kind,
    same_steps,
    same_weights,
)
from vitviz.checkpoints import load_checkpoint, open_model
from vitviz.training import run_lock
from vitviz.training.loop import Trainer
from vitviz.training.records import Event, StepRecord
from vitviz.training.run_config import clean_name
from vitviz.training.run_directory import Run, RunError, Status, list_runs
from vitviz.training.run_trainer import Session


def wait_for(run: Run, state: str, beat: threading.Event) -> None:
    while run.status().state != state:
        beat.wait(0.01)


def test_a_session_writes_a_whole_run(tmp_path: Path) -> None:
    run = digits_run(tmp_path)
    assert run.status() == Status()
    status = Session(run, "cpu").perform()
    assert status.state == "done" and run.status() == status
    steps = [record["step"] for record in of_kind(run, "step")]
    assert steps == list(range(1, status.step + 1)) and status.step == status.total_steps
    assert run.snapshots() == [record["step"] for record in of_kind(run, "snapshot")]
    assert run.snapshots()[0] == 0 and run.snapshots()[-1] == status.step
    assert [record["split"] for record in of_kind(run, "evaluation")][-1] == "test"
    assert status.test_accuracy is not None and status.progress == 1.0
    assert open_model(run.snapshot_path()).step == status.step
    assert load_checkpoint(run.snapshot_path(0)).config == TINY


def test_records_are_read_on_from_where_one_was(tmp_path: Path) -> None:
    run = digits_run(tmp_path)
    Session(run, "cpu").perform()
    everything, end = run.records()
    path = run.directory / "records.jsonl"
    half = path.read_bytes().index(b"\n", path.stat().st_size // 2) + 1
    later, again = run.records(half)
    assert later == everything[-len(later) :] and again == end
    assert run.records(end) == ([], end)
    with path.open("ab") as file:
        file.write(b'{"kind": "step", "st')
    assert run.records(end) == ([], end)


def test_stop_and_resume_equals_one_run(tmp_path: Path) -> None:
    whole, halted = digits_run(tmp_path), digits_run(tmp_path)
    Session(whole, "cpu").perform()
    stopped = command_at(halted, 5, "stop").perform()
    assert (stopped.state, stopped.step) == ("stopped", 5) and "Resume" in stopped.message
    assert Session(halted, "cpu").perform().state == "done"
    assert same_steps(whole, halted) and same_weights(whole, halted)


def test_pause_step_and_resume(tmp_path: Path) -> None:
    run, beat = digits_run(tmp_path), threading.Event()
    session = command_at(run, 3, "pause")
    thread = threading.Thread(target=session.perform)
    thread.start()
    wait_for(run, "paused", beat)
    assert run.status().step == 3
    run.control("step")
    while run.status().step < 4 or run.status().state != "paused":
        beat.wait(0.01)
    assert [record["step"] for record in of_kind(run, "step")] == [1, 2, 3, 4]
    run.control("resume")
    thread.join()
    assert run.status().state == "done"


def test_a_new_learning_rate_applies_mid_run_and_survives_a_resume(tmp_path: Path) -> None:
    run = digits_run(tmp_path, schedule="constant")
    session = command_at(run, 2, "set", learning_rate=1e-4, weight_decay=0.3)
    session.perform()
    rates = [record["learning_rate"] for record in of_kind(run, "step")]
    assert rates[:2] == [3e-3, 3e-3] and set(rates[2:]) == {1e-4}
    assert of_kind(run, "event")[0]["learning_rate"] == 1e-4
    with pytest.raises(ValueError, match="received 1000000000.0"):
        run.control("set", learning_rate=1e9)
    with pytest.raises(ValueError, match="received 'explode'"):
        run.control("explode")


def test_an_abandoned_run_stops_after_its_lease(tmp_path: Path) -> None:
    run = digits_run(tmp_path, epochs=10_000.0)
    leased = Run.create(tmp_path, replace(run.config(), lease_s=0.01))
    status = Session(leased, "cpu").perform()
    assert status.state == "stopped" and "no browser" in status.message
    assert leased.snapshots() and (leased.directory / "resume.safetensors").is_file()


def test_a_diverging_run_says_where_and_keeps_its_snapshots(tmp_path: Path) -> None:
    run = digits_run(tmp_path)
    session = Session(run, "cpu")

    def poison(event: Event, trainer: Trainer) -> None:
        if isinstance(event, StepRecord) and event.step == 4:
            trainer.weights.master.fill_(float("nan"))
            trainer.weights.publish()

    session._listen = poison
    status = session.perform()
    assert status.state == "diverged" and "step 5" in status.message
    assert open_model(run.snapshot_path()).step <= 4


def test_what_cannot_be_trained_fails_with_the_reason(tmp_path: Path) -> None:
    for changes, reason in (
        ({"batch_size": 5000}, "batch_size 5000 is larger"),
        ({"dataset": "marbles"}, "marbles"),
        ({"distill_from": "/etc/passwd"}, "the teacher must be"),
        ({"distill_from": "checkpoints/none.safetensors"}, "cannot be read"),
    ):
        status = Session(digits_run(tmp_path, **changes), "cpu").perform()
        assert status.state == "failed" and reason in status.message


def test_a_run_that_vanishes_while_they_are_listed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, lost = (digits_run(tmp_path) for _ in range(2))
    monkeypatch.setattr(Run, "exists", lambda self: self.directory != lost.directory)
    assert [run.id for run in list_runs(tmp_path)] == [kept.id]


def test_rename_duplicate_list_and_delete(tmp_path: Path) -> None:
    run = digits_run(tmp_path)
    run.rename("  my\nrun\x00 ")
    assert run.config().name == "my run" and clean_name("x" * 200) == "x" * 80 and clean_name("") == "run"
    copy = duplicate(run, name="wider", train=replace(run.config().train, learning_rate=0.5))
    assert copy.config().train.learning_rate == 0.5 and copy.config().model == TINY
    assert {found.id for found in list_runs(tmp_path)} == {run.id, copy.id}
    copy.delete()
    assert [found.id for found in list_runs(tmp_path)] == [run.id]
    with pytest.raises(RunError, match="does not exist"):
        Run(copy.directory)
    with pytest.raises(RunError):
        Run.find(tmp_path, "../../etc")
    assert Run.find(tmp_path, run.id).id == run.id
    assert list_runs(tmp_path / "nowhere") == []


def test_a_trainer_that_died_silently_reads_as_interrupted(tmp_path: Path) -> None:
    run = digits_run(tmp_path)
    session = Session(run, "cpu", token="mine")
    assert run_lock.claim_run(run.directory, "mine")
    session._set_state("running")
    text = (run.directory / "status.json").read_text()
    (run.directory / "status.json").write_text(text.replace('"heartbeat": ', '"heartbeat": 1e3, "was": '))
    status = run.status()
    assert session.status.state == "running"
    assert status.state == "interrupted" and status.has_ended and "Resume" in status.message


def test_a_torn_status_is_read_field_by_field(tmp_path: Path) -> None:
    run = digits_run(tmp_path)
    usual = asdict(Status("running", step=3, pid=os.getpid(), heartbeat=time.time()))
    odd: dict[str, list[Any]] = {
        "state": ["flying", 3, None],
        "step": ["3", 1.5, None, True, 10**30],
        "accuracy": ["high", float("nan"), []],
        "heartbeat": ["now", None, {}, 10**400],
        "pid": ["x", 10**400, None],
        "host": [7, None],
        "message": [{}],
    }
    for name, values in odd.items():
        for value in values:
            (run.directory / "status.json").write_text(json.dumps({**usual, name: value, "more": 1}))
            status = run.status()
            assert status.step in (0, 3) and status.state in ("running", "interrupted", "new")
            assert getattr(status, name) != value

"""What a session does with commands and a lease that came while its process was still loading."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, replace
from pathlib import Path
from threading import Thread

from tests.unit.training_helpers import digits_run
from vitviz.training.atomic_files import write_status
from vitviz.training.loop import Trainer
from vitviz.training.records import Event, StepRecord
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, Status
from vitviz.training.run_trainer import Session


def queued(root: Path, **changes: object) -> Run:
    run = digits_run(root, **changes)
    write_status(run.directory / "status.json", asdict(Status("queued")))
    return run


def test_a_lease_that_ran_out_while_it_loaded_ends_the_run_and_is_reported(tmp_path: Path) -> None:
    first = queued(tmp_path, epochs=1000)
    leased: RunConfig = replace(first.config(), lease_s=2.0, created=0.0)
    run = Run.create(tmp_path, leased)
    run.touch_lease()
    os.utime(run.directory / "lease.json", (1.0, 1.0))
    assert Session(run, "cpu").perform().state == "stopped"
    assert run.status().state == "stopped" and "no browser" in run.status().message


def test_what_was_set_while_it_loaded_takes_effect(tmp_path: Path) -> None:
    run = queued(tmp_path, epochs=1)
    before = run.control_end()
    for _ in range(2):  # the page's control, which follows the run, may send what it was given
        run.control("set", learning_rate=1e-4)
    assert Session(run, "cpu", control_at=before).perform().state == "done"
    events = [json.loads(line) for line in (run.directory / "records.jsonl").read_text().splitlines()]
    assert [event["learning_rate"] for event in events if event.get("event") == "changed"] == [1e-4]


def test_a_stop_while_it_loaded_is_left_as_it_was_written(tmp_path: Path) -> None:
    run = queued(tmp_path)
    before = run.control_end()
    run.control("stop")
    written = (run.directory / "status.json").read_bytes()
    assert Session(run, "cpu", control_at=before).perform().state == "stopped"
    assert (run.directory / "status.json").read_bytes() == written


def test_a_step_asked_for_with_the_pause_is_made(tmp_path: Path) -> None:
    """Both commands lie there before the session looks: it makes the one step, then holds."""
    run, commands = digits_run(tmp_path, epochs=1), ["step", "pause"]

    def tell(event: Event, _: Trainer) -> None:
        while isinstance(event, StepRecord) and event.step == 3 and commands:
            run.control(commands.pop())

    thread = Thread(target=Session(run, "cpu", tell).perform, daemon=True)
    thread.start()
    while run.status().state != "paused":
        time.sleep(0.01)
    assert run.status().step == 4
    run.control("stop")
    thread.join()

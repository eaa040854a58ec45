"""Runs that meet a full disk, a torn file or another's teacher."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.robustness.run_files import GREY, TRAIN, full_disk, new_run
from tests.unit.training_helpers import command_at
from vitviz.config import ViTConfig
from vitviz.data.datasets import load_dataset
from vitviz.training import atomic_files, model_trainer, run_lock, run_trainer, session_models
from vitviz.training.atomic_files import read_json, read_lines, write_status
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError, list_runs
from vitviz.training.run_trainer import Session
from vitviz.training.snapshot_files import save_resume


@pytest.mark.parametrize(
    ("where", "what"),
    [(model_trainer, "save_snapshot"), (model_trainer, "append_lines"), (run_trainer, "save_resume")],
)
def test_a_full_disk_stops_the_run_and_leaves_the_files_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: ModuleType, what: str
) -> None:
    run = new_run(tmp_path)
    command_at(run, 2, "stop").perform()
    before = {path: path.read_bytes() for path in run.directory.rglob("*.safetensors")}
    with monkeypatch.context() as patched:
        patched.setattr(where, what, full_disk)
        patched.setattr(atomic_files, "write_whole", full_disk)
        status = Session(run, "cpu").perform()
    assert status.state == "failed" and "disk is full" in status.message
    assert run.status().message == status.message
    assert (
        before.items() <= {path: path.read_bytes() for path in run.directory.rglob("*.safetensors")}.items()
    )
    assert Session(run, "cpu").perform().state == "done"


def test_a_draft_is_not_left_where_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(OSError, match="No space"):
        atomic_files.write_whole(tmp_path / "a.json", b"{}")
    assert list(tmp_path.iterdir()) == []


def test_a_status_is_reported_over_the_old_one_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "status.json"
    write_status(path, {"state": "running", "message": "x" * 500})
    size = path.stat().st_size
    monkeypatch.setattr(atomic_files, "write_whole", full_disk)
    write_status(path, {"state": "failed"})
    assert read_json(path) == {"state": "failed"} and path.stat().st_size == size


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff\xfe", b'{"model": 3}', b"null"])
def test_damaged_files_are_reported_not_raised_into_pages(tmp_path: Path, damage: bytes) -> None:
    run = new_run(tmp_path)
    (run.directory / "status.json").write_bytes(damage)
    assert run.status().state == "new"
    (run.directory / "config.json").write_bytes(damage)
    with pytest.raises(RunError, match="config is invalid"):
        run.config()


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.sampled_from([b'{"step": 1}\n', b"garbage\n", b"[1]\n", b"\n", b'{"st', b"\xff\n"]), max_size=8
    )
)
def test_reading_lines_survives_everything(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("lines") / "records.jsonl"
    path.write_bytes(b"".join(lines))
    values, end = read_lines(path)
    assert all(isinstance(value, dict) for value in values) and end <= path.stat().st_size


def test_a_torn_record_is_cut_when_the_run_goes_on(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    command_at(run, 2, "stop").perform()
    with (run.directory / "records.jsonl").open("ab") as file:
        file.write(b'{"kind": "step", "step": 3, "lo')
    Session(run, "cpu").perform()
    lines = (run.directory / "records.jsonl").read_bytes().splitlines()
    steps = [record["step"] for record in map(json.loads, lines) if record["kind"] == "step"]
    assert steps == list(range(1, len(steps) + 1))


@pytest.mark.parametrize("values", [[], {"step": {}}, {"step": 1}, None])
def test_a_resume_of_odd_values_ends_the_run_and_not_its_worker(tmp_path: Path, values: object) -> None:
    run = new_run(tmp_path)
    save_resume(run, {}, values)  # type: ignore[arg-type]
    assert Session(run, "cpu").perform().state == "failed"


def test_a_teacher_of_other_classes_is_refused_before_the_first_step(tmp_path: Path, finished: Run) -> None:
    config = finished.config()
    student = replace(config.model, distilled=True, num_classes=4)
    train = replace(config.train, dataset="shapes", distill_from=str(finished.snapshot_path()))
    run = Run.create(finished.directory.parent, replace(config, model=student, train=train))
    status = Session(run, "cpu").perform()
    assert status.state == "failed" and "10 and 4" in status.message


def test_a_run_does_not_go_on_with_another_teacher(tmp_path: Path, finished: Run) -> None:
    teacher = tmp_path / "teacher.safetensors"
    shutil.copy(finished.snapshot_path(), teacher)
    config = finished.config()
    student = Run.create(tmp_path, replace(config, train=replace(config.train, distill_from=str(teacher))))
    assert Session(student, "cpu").perform().state == "done"
    shutil.copy(finished.snapshot_path(finished.snapshots()[0]), teacher)
    status = Session(student, "cpu").perform()
    assert status.state == "failed" and "was changed since this run started" in status.message


def test_a_teacher_that_gives_probabilities_is_refused(tmp_path: Path) -> None:
    teacher = new_run(tmp_path)
    config = replace(teacher.config(), model=replace(teacher.config().model, softmax_output=True))  # type: ignore[call-arg]
    teacher = Run.create(tmp_path, config)
    assert Session(teacher, "cpu").perform().state == "done"
    train = replace(config.train, distill_from=str(teacher.snapshot_path()))
    student = Run.create(tmp_path, replace(new_run(tmp_path).config(), train=train))
    status = Session(student, "cpu").perform()
    assert status.state == "failed" and "must output logits" in status.message


def test_a_trainer_beats_while_it_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A download may take minutes; nothing else is reported meanwhile."""
    run = new_run(tmp_path)
    monkeypatch.setattr(run_lock, "BEAT_S", 0.02)
    beaten = []

    def slow(*given: object, **more: object) -> object:
        first, deadline = run.status().heartbeat, time.monotonic() + 60
        while run.status().heartbeat == first and time.monotonic() < deadline:
            time.sleep(0.01)
        beaten.append(run.status().heartbeat > first)
        return load_dataset(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(session_models, "load_dataset", slow)
    assert Session(run, "cpu").perform().state == "done"
    assert beaten == [True] and run.status().state == "done"


def test_a_damaged_resume_is_reported(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    (run.directory / "resume.safetensors").write_bytes(b"broken")
    status = Session(run, "cpu").perform()
    assert status.state == "failed" and "saved state is damaged" in status.message


def test_a_resume_of_another_model_is_reported(tmp_path: Path, finished: Run) -> None:
    other = Run.create(tmp_path, RunConfig(ViTConfig(in_chans=1, depth=1, patch_size=16), GREY, TRAIN))
    (other.directory / "resume.safetensors").write_bytes(
        (finished.directory / "resume.safetensors").read_bytes()
    )
    assert Session(other, "cpu").perform().state == "failed"


def test_a_run_that_is_being_created_or_removed_is_not_listed(tmp_path: Path) -> None:
    new_run(tmp_path).directory.rename(tmp_path / ".new-251122-000000-0123456789abcdef")
    new_run(tmp_path).directory.rename(tmp_path / ".gone-251122-000000-0123456789abcdef")
    assert list_runs(tmp_path) == []

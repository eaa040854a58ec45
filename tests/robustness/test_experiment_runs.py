"""Experiments that meet a full disk, a torn file or a stranger's zip."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.robustness.run_files import GREY, MODEL, TRAIN, full_disk, rezipped
from tests.unit.training_helpers import command_at
from vitviz.checkpoints import open_model
from vitviz.training import model_trainer, run_directory
from vitviz.training.executor import LocalExecutor
from vitviz.training.run_archive import export_run, import_run
from vitviz.training.run_config import Member, RunConfig
from vitviz.training.run_directory import Run, RunError, list_runs
from vitviz.training.run_trainer import Session


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished experiment of two models."""
    members = (
        Member("none", "None", replace(MODEL, positions="none")),
        Member("learned", "Learned", MODEL),
    )
    run = Run.create(
        tmp_path_factory.mktemp("runs"), RunConfig(members[0].model, GREY, TRAIN, "two", members=members)
    )
    assert Session(run, "cpu").perform().state == "done"
    return run


def test_an_experiment_travels_with_its_members(tmp_path: Path, compared: Run) -> None:
    arrived = import_run(tmp_path, export_run(compared), owner="you", lease_s=90.0)
    assert arrived.config().members == compared.config().members
    for one, other in zip(arrived.members(), compared.members(), strict=True):
        assert one.config().owner == "you" and one.status().state == "done"
        assert one.snapshots() == other.snapshots() and one.records()[0] == other.records()[0]
        assert one.status().test_accuracy == other.status().test_accuracy
        assert open_model(one.snapshot_path()).config == other.config().model
    assert Session(arrived, "cpu").perform().state == "done"  # resumed at its end


def members_of(run: Run, **changes: Any) -> bytes:
    """The experiment's config.json with the last member changed."""
    config = json.loads((run.directory / "config.json").read_bytes())
    config["members"][-1] |= changes
    return json.dumps(config).encode()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"members__learned__..__evil_json": b"{}"}, "not a run"),
        ({"members__..__records.jsonl": b""}, "not a run"),
        ({"members__learned__config_json": b"{}"}, "not a run"),
        ({"members__learned__resume_st": b""}, "not a run"),
        ({"members__other__records.jsonl": b""}, "unexpected file"),
        ({"records.jsonl": b""}, "unexpected file"),
        ({"members__learned__snapshots__00000009_st": b"junk"}, "00000009"),
        ({"members__learned__status_json": None}, "status"),
        ({"members__learned__status_json": b"[]"}, "status"),
        ({"config_json": {"name": "../../evil"}}, "config"),
        ({"config_json": {"name": "none"}}, "config"),
        ({"config_json": {"name": 3}}, "no snapshot"),
        ({"config_json": {"model": None}}, "config"),
        ({"config_json": {"model": {"kind": "train"}}}, "config"),
    ],
)
def test_zips_that_are_no_experiments_leave_nothing_behind(
    tmp_path: Path, compared: Run, changes: dict[str, Any], reason: str
) -> None:
    given = {
        name: members_of(compared, **data) if isinstance(data, dict) else data
        for name, data in changes.items()
    }
    with pytest.raises(RunError, match=reason):
        import_run(tmp_path, rezipped(compared, **given))
    assert list_runs(tmp_path) == [] and not list(tmp_path.iterdir())


def test_a_members_snapshot_must_be_of_its_own_model(tmp_path: Path, compared: Run) -> None:
    none, learned = compared.members()
    given = {"members__learned__snapshots__00000000_st": none.snapshot_path(0).read_bytes()}
    with pytest.raises(RunError, match="does not match the model"):
        import_run(tmp_path, rezipped(compared, **given))
    gone = {f"members__learned__snapshots__{step:08d}_st": None for step in learned.snapshots()}
    with pytest.raises(RunError, match="no snapshot"):
        import_run(tmp_path, rezipped(compared, **gone))


def test_an_experiment_on_a_full_disk_goes_on_with_all_members_at_one_step(
    tmp_path: Path, compared: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run.create(tmp_path, replace(compared.config(), created=0.0))
    command_at(run, 2, "stop").perform()
    written = []

    def only_the_first(*given: Any) -> None:
        if written:
            full_disk()
        written.append(given)

    with monkeypatch.context() as patched:
        patched.setattr(model_trainer, "save_snapshot", only_the_first)
        assert "disk is full" in Session(run, "cpu").perform().message
    assert Session(run, "cpu").perform().state == "done"
    steps = [[r["step"] for r in member.records()[0] if r["kind"] == "step"] for member in run.members()]
    assert steps[0] == steps[1] == list(range(1, len(steps[0]) + 1))


@pytest.mark.parametrize("damage", [b"broken", b""])
def test_a_damaged_resume_of_an_experiment_is_reported(tmp_path: Path, compared: Run, damage: bytes) -> None:
    run = Run.create(tmp_path, replace(compared.config(), created=0.0))
    (run.directory / "resume.safetensors").write_bytes(damage)
    status = Session(run, "cpu").perform()
    assert status.state == "failed" and "saved state is damaged" in status.message
    alone = compared.config().for_member(compared.config().members[1])
    other = Run.create(tmp_path, replace(alone, created=0.0))
    Session(other, "cpu").perform()
    (run.directory / "resume.safetensors").write_bytes((other.directory / "resume.safetensors").read_bytes())
    assert Session(run, "cpu").perform().state == "failed"


def test_a_full_disk_at_creation_leaves_no_half_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compared: Run
) -> None:
    for config in (RunConfig(MODEL, GREY, TRAIN), compared.config()):
        for module, function in ((run_directory, "write_status"), (Path, "write_bytes")):
            with monkeypatch.context() as patched:
                patched.setattr(module, function, full_disk)
                with pytest.raises(OSError, match="No space"):
                    Run.create(tmp_path, config)
            assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_after_the_config_is_named_and_leaves_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The status was then overwritten in place, where there was none: 'No such file or directory'."""
    write_bytes = Path.write_bytes

    def write_the_config(path: Path, encoded: bytes) -> int:
        return write_bytes(path, encoded) if "config.json" in path.name else full_disk()

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", write_the_config)
        with pytest.raises(OSError, match="No space"):
            Run.create(tmp_path, RunConfig(MODEL, GREY, TRAIN))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["run_lock._create", "Run.touch_lease"])
def test_a_disk_that_fills_when_a_run_is_queued_leaves_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setattr(f"vitviz.training.executor.{step}", full_disk)
    executor = LocalExecutor(tmp_path, slots=1, warm=False)
    with pytest.raises(OSError, match="No space"):
        executor.start(RunConfig(MODEL, GREY, TRAIN))
    executor.close()
    assert list(tmp_path.iterdir()) == []

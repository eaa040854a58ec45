"""Runs that meet a full disk, a torn file or a stranger's zip."""

from __future__ import annotations

import errno
import io
import json
import re
import shutil
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vitviz.checkpoints import checkpoint_bytes, load_checkpoint, open_model
from vitviz.config import Preparation, TrainConfig, ViTConfig
from vitviz.data.datasets import load_dataset
from vitviz.training import archive, claim, files, lane, runs, session
from vitviz.training.archive import export_run, import_run
from vitviz.training.files import read_json, read_lines, write_status
from vitviz.training.runs import Member, Run, RunConfig, RunError, list_runs
from vitviz.training.saving import save_resume
from vitviz.training.session import Session

MODEL = ViTConfig(image_size=32, patch_size=16, in_chans=1, embed_dim=8, depth=1, num_heads=1)
GREY = Preparation(image_size=32, mean=(0.5,), std=(0.5,), digit=True)
TRAIN = TrainConfig(epochs=2, batch_size=32, train_fraction=0.1, snapshots=3)


def new_run(root: Path) -> Run:
    return Run.create(root, RunConfig(MODEL, GREY, TRAIN, name="tiny", owner="me"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = new_run(tmp_path_factory.mktemp("runs"))
    assert Session(run, "cpu").perform().state == "done"
    return run


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("where", "what"), [(lane, "save_snapshot"), (lane, "append_lines"), (session, "save_resume")]
)
def test_a_full_disk_stops_the_run_and_leaves_the_files_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: ModuleType, what: str
) -> None:
    run = new_run(tmp_path)
    Session(
        run, "cpu", lambda event, _: run.control("stop") if getattr(event, "step", 0) == 2 else None
    ).perform()
    before = {path: path.read_bytes() for path in run.directory.rglob("*.safetensors")}
    with monkeypatch.context() as patched:
        patched.setattr(where, what, full_disk)
        patched.setattr(files, "write_whole", full_disk)
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
        files.write_whole(tmp_path / "a.json", b"{}")
    assert list(tmp_path.iterdir()) == []


def test_a_status_is_reported_over_the_old_one_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "status.json"
    write_status(path, {"state": "running", "message": "x" * 500})
    size = path.stat().st_size
    monkeypatch.setattr(files, "write_whole", full_disk)
    write_status(path, {"state": "failed"})
    assert read_json(path) == {"state": "failed"} and path.stat().st_size == size


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff\xfe", b'{"model": 3}', b"null"])
def test_damaged_files_are_said_not_raised_into_pages(tmp_path: Path, damage: bytes) -> None:
    run = new_run(tmp_path)
    (run.directory / "status.json").write_bytes(damage)
    assert run.status().state == "new"
    (run.directory / "config.json").write_bytes(damage)
    with pytest.raises(RunError, match="config cannot be used"):
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
    Session(
        run, "cpu", lambda event, _: run.control("stop") if getattr(event, "step", 0) == 2 else None
    ).perform()
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
    assert status.state == "failed" and "knows 10 classes, the student learns 4" in status.message


def test_a_run_does_not_go_on_with_another_teacher(tmp_path: Path, finished: Run) -> None:
    teacher = tmp_path / "teacher.safetensors"
    shutil.copy(finished.snapshot_path(), teacher)
    config = finished.config()
    student = Run.create(tmp_path, replace(config, train=replace(config.train, distill_from=str(teacher))))
    assert Session(student, "cpu").perform().state == "done"
    shutil.copy(finished.snapshot_path(finished.snapshots()[0]), teacher)
    status = Session(student, "cpu").perform()
    assert (
        status.state == "failed" and "another teacher than the one that this run began with" in status.message
    )


def test_a_teacher_that_gives_probabilities_is_refused(tmp_path: Path) -> None:
    teacher = new_run(tmp_path)
    config = replace(teacher.config(), model=replace(teacher.config().model, softmax_output=True))  # type: ignore[call-arg]
    teacher = Run.create(tmp_path, config)
    assert Session(teacher, "cpu").perform().state == "done"
    train = replace(config.train, distill_from=str(teacher.snapshot_path()))
    student = Run.create(tmp_path, replace(new_run(tmp_path).config(), train=train))
    status = Session(student, "cpu").perform()
    assert status.state == "failed" and "gives probabilities, not logits" in status.message


def test_a_trainer_beats_while_it_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A download may take minutes; nothing else is said meanwhile."""
    run = new_run(tmp_path)
    monkeypatch.setattr(claim, "BEAT_S", 0.02)
    beaten = []

    def slow(*given: object, **more: object) -> object:
        first, deadline = run.status().heartbeat, time.monotonic() + 10
        while run.status().heartbeat == first and time.monotonic() < deadline:
            time.sleep(0.01)
        beaten.append(run.status().heartbeat > first)
        return load_dataset(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "load_dataset", slow)
    assert Session(run, "cpu").perform().state == "done"
    assert beaten == [True] and run.status().state == "done"


def test_a_damaged_resume_is_said(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    (run.directory / "resume.safetensors").write_bytes(b"broken")
    status = Session(run, "cpu").perform()
    assert status.state == "failed" and "saved state is damaged" in status.message


def test_a_resume_of_another_model_is_said(tmp_path: Path, finished: Run) -> None:
    other = Run.create(tmp_path, RunConfig(ViTConfig(in_chans=1, depth=1, patch_size=16), GREY, TRAIN))
    (other.directory / "resume.safetensors").write_bytes(
        (finished.directory / "resume.safetensors").read_bytes()
    )
    assert Session(other, "cpu").perform().state == "failed"


def test_a_run_travels_as_a_zip(tmp_path: Path, finished: Run) -> None:
    arrived = import_run(tmp_path, export_run(finished), owner="you", lease_s=90.0)
    assert arrived.id != finished.id and arrived.config().owner == "you"
    assert arrived.snapshots() == finished.snapshots()
    assert arrived.records()[0] == finished.records()[0]
    assert (
        arrived.status().state == "done" and arrived.status().test_accuracy == finished.status().test_accuracy
    )
    first, last = arrived.snapshots()[0], arrived.snapshots()[-1]
    assert (open_model(arrived.snapshot_path(first)).step, open_model(arrived.snapshot_path(last)).step) == (
        first,
        last,
    )


def rezipped(run: Run, **changes: bytes | None) -> bytes:
    """The run's zip with members replaced, added, or (None) left out; '__' in a name stands for '/'."""
    members: dict[str, bytes | None] = {}
    with zipfile.ZipFile(io.BytesIO(export_run(run))) as archive:
        members.update({name: archive.read(name) for name in archive.namelist()})
    for name, data in changes.items():
        members[name.replace("__", "/").replace("_json", ".json").replace("_st", ".safetensors")] = data
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            if data is not None:
                archive.writestr(name, data)
    return buffer.getvalue()


def json_of(**values: Any) -> bytes:
    return json.dumps(values).encode()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"..__evil_json": b"{}"}, "not a run"),
        ({"__etc__passwd": b""}, "not a run"),
        ({"snapshots__x_st": b""}, "not a run"),
        ({"snapshots__00000009_st": b"junk"}, "00000009"),
        ({"config_json": None}, "config"),
        ({"config_json": b"[]"}, "config"),
        ({"config_json": b"[" * 100_000}, "config"),
        ({"config_json": json_of(model={"kind": "vit", "num_heads": 0}, preparation={}, train={})}, "config"),
        ({"status_json": None}, "status"),
        ({"status_json": json_of(state="done", step=1, progress="NaN")}, "status"),
        ({"resume_st": b"junk"}, "saved state"),
    ],
)
def test_zips_that_are_no_runs_leave_nothing_behind(
    tmp_path: Path, finished: Run, changes: dict[str, bytes | None], reason: str
) -> None:
    with pytest.raises(RunError, match=reason):
        import_run(tmp_path, rezipped(finished, **changes))
    assert list_runs(tmp_path) == []


def test_a_zip_without_snapshots_or_of_another_model_is_refused(tmp_path: Path, finished: Run) -> None:
    gone = {f"snapshots__{step:08d}_st": None for step in finished.snapshots()}
    with pytest.raises(RunError, match="no snapshot"):
        import_run(tmp_path, rezipped(finished, **gone))
    config = json.loads((finished.directory / "config.json").read_bytes())
    config["model"]["num_heads"] = 2
    with pytest.raises(RunError, match="another model"):
        import_run(tmp_path, rezipped(finished, config_json=json.dumps(config).encode()))


def test_a_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, finished: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 10_000)
    with pytest.raises(RunError, match="would unpack to"):
        import_run(tmp_path, rezipped(finished))
    monkeypatch.setattr(archive, "MAX_ZIP_BYTES", 10)
    with pytest.raises(RunError, match="too large"):
        import_run(tmp_path, rezipped(finished))


def test_a_full_disk_at_creation_leaves_no_half_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compared: Run
) -> None:
    for config in (RunConfig(MODEL, GREY, TRAIN), compared.config()):
        with monkeypatch.context() as patched:
            patched.setattr(runs, "write_status", full_disk)
            with pytest.raises(OSError, match="No space"):
                Run.create(tmp_path, config)
        assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_being_created_or_removed_is_not_listed(tmp_path: Path) -> None:
    new_run(tmp_path).directory.rename(tmp_path / ".new-251122-000000-0123456789abcdef")
    new_run(tmp_path).directory.rename(tmp_path / ".gone-251122-000000-0123456789abcdef")
    assert list_runs(tmp_path) == []


GOOD_STEP = {
    "kind": "step",
    "step": 2,
    "epoch": 0.5,
    "seen": 64,
    "loss": 0.5,
    "accuracy": 0.25,
    "learning_rate": 1e-3,
    "weight_decay": 0.0,
    "gradient_norm": 1.5,
    "images_per_second": 100.0,
    "seconds": 0.5,
}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"accuracy": None}, "accuracy must be a number from 0 to 1, received nothing"),
        ({"accuracy": 3}, "accuracy must be a number from 0 to 1, received 3"),
        ({"accuracy": float("nan")}, "accuracy must be .* received no finite number"),
        ({"loss": 10**400}, "loss must be .* received a number of more than 18 digits"),
        ({"loss": "<img src=x>" * 99}, "loss must be .*…"),
        ({"epoch": "0.5"}, "epoch must be a number"),
        ({"epoch": [1] * 9999}, "epoch must be .* received a list"),
        ({"step": 2.0}, "step must be a whole number from 0 to 1,000,000,000"),
        ({"step": True}, "step must be a whole number"),
        ({"step": -1}, "step must be a whole number .* received -1"),
        ({"kind": "evil"}, "kind must be one of step, evaluation"),
        ({"kind": ["step"]}, "kind must be one of"),
        ({"kind": "evaluation"}, "split must be one of validation, test, received nothing"),
        (
            {"kind": "evaluation", "split": "test", "images": 4, "confusion": [[1]] * 2},
            "confusion must be a square",
        ),
        (
            {"kind": "shuffled", "split": "test", "shuffled": 0.1, "images": 1},
            "confusion must be .* received nothing",
        ),
        ({"kind": "event"}, "event must be a text of up to 200 characters, received nothing"),
    ],
)
def test_a_strangers_record_that_does_not_fit_is_left_out_and_said(
    tmp_path: Path, finished: Run, change: dict[str, Any], why: str
) -> None:
    lines = f"{json.dumps(GOOD_STEP)}\n{json.dumps(GOOD_STEP | change)}\n".encode()
    arrived = import_run(tmp_path, rezipped(finished, **{"records.jsonl": lines}))
    assert arrived.records()[0] == [GOOD_STEP]
    message = arrived.status().message
    assert re.search(rf"; left out: records.jsonl line 2: {why}", message) and len(message) < 300


def test_what_has_no_place_in_a_record_does_not_come_with_it(tmp_path: Path, finished: Run) -> None:
    lines = json.dumps(GOOD_STEP | {"html": "<b>"}).encode() + b"\nx\n[]\n" + b"[" * 10**5 + b"\n"
    arrived = import_run(tmp_path, rezipped(finished, **{"records.jsonl": lines}))
    assert arrived.records()[0] == [GOOD_STEP]
    assert "left out: records.jsonl line 2 is no record and 2 more" in arrived.status().message


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"step": "3"}, "step must be a whole number"),
        ({"progress": 7}, "progress must be a number from 0 to 1, received 7"),
        ({"epoch": None}, "epoch must be a number from 0"),
        ({"accuracy": 1.5}, "accuracy must be a number from 0 to 1"),
        ({"test_accuracy": "99"}, "test_accuracy must be a number from 0 to 1, received '99'"),
        ({"seconds": -1.0}, "seconds must be a number from 0"),
    ],
)
def test_a_strangers_status_is_read_field_by_field(
    tmp_path: Path, finished: Run, changes: dict[str, Any], why: str
) -> None:
    status = read_json(finished.directory / "status.json") | changes
    with pytest.raises(RunError, match=rf"its status \(status.json\) cannot be used: {why}"):
        import_run(tmp_path, rezipped(finished, status_json=json.dumps(status).encode()))
    assert list(tmp_path.iterdir()) == []


def test_a_snapshot_says_no_more_than_a_runs_snapshot_does(tmp_path: Path, finished: Run) -> None:
    step = finished.snapshots()[-1]
    good = load_checkpoint(finished.snapshot_path(step))
    for changed, why in (
        (replace(good, history=[{"accuracy": "x"}]), "says more of itself"),
        (replace(good, card={"summary": "![](http://x)"}), "says more of itself"),
        (
            replace(good, classes=("a", "b", "c")),
            "a model of 10 outputs needs as many class names, received 3",
        ),
    ):
        name = f"snapshots__{step:08d}_st"
        with pytest.raises(RunError, match=why):
            import_run(tmp_path, rezipped(finished, **{name: checkpoint_bytes(changed)}))
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=300))
def test_noise_is_no_run(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    with pytest.raises(RunError):
        import_run(tmp_path_factory.mktemp("noise"), noise)


# ---------------------------------------------------------------- experiments


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
        ({"members__other__records.jsonl": b""}, "belongs to no model"),
        ({"records.jsonl": b""}, "belongs to no model"),
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
    with pytest.raises(RunError, match="another model"):
        import_run(tmp_path, rezipped(compared, **given))
    gone = {f"members__learned__snapshots__{step:08d}_st": None for step in learned.snapshots()}
    with pytest.raises(RunError, match="no snapshot"):
        import_run(tmp_path, rezipped(compared, **gone))


def test_an_experiment_on_a_full_disk_goes_on_with_all_members_at_one_step(
    tmp_path: Path, compared: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run.create(tmp_path, replace(compared.config(), created=0.0))
    Session(
        run, "cpu", lambda event, _: run.control("stop") if getattr(event, "step", 0) == 2 else None
    ).perform()
    written = []

    def only_the_first(*given: Any) -> None:
        if written:
            full_disk()
        written.append(given)

    with monkeypatch.context() as patched:
        patched.setattr(lane, "save_snapshot", only_the_first)
        assert "disk is full" in Session(run, "cpu").perform().message
    assert Session(run, "cpu").perform().state == "done"
    steps = [[r["step"] for r in member.records()[0] if r["kind"] == "step"] for member in run.members()]
    assert steps[0] == steps[1] == list(range(1, len(steps[0]) + 1))


@pytest.mark.parametrize("damage", [b"broken", b""])
def test_a_damaged_resume_of_an_experiment_is_said(tmp_path: Path, compared: Run, damage: bytes) -> None:
    run = Run.create(tmp_path, replace(compared.config(), created=0.0))
    (run.directory / "resume.safetensors").write_bytes(damage)
    status = Session(run, "cpu").perform()
    assert status.state == "failed" and "saved state is damaged" in status.message
    alone = compared.config().of(compared.config().members[1])
    other = Run.create(tmp_path, replace(alone, created=0.0))
    Session(other, "cpu").perform()
    (run.directory / "resume.safetensors").write_bytes((other.directory / "resume.safetensors").read_bytes())
    assert Session(run, "cpu").perform().state == "failed"

"""Runs that travel as zips, and strangers' zips."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from tests.robustness.run_files import GOOD_STEP, json_of, rezipped
from vitviz import upload_limits
from vitviz.checkpoints import checkpoint_bytes, load_checkpoint, open_model
from vitviz.training.atomic_files import read_json
from vitviz.training.run_archive import export_run, import_run
from vitviz.training.run_directory import Run, RunError, list_runs


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
        # Bounded before it is read.
        (
            {"records.jsonl": b"ab\n" * (upload_limits.RUN_RECORDS + 1)},
            "has 50,001 records, the limit is 50,000",
        ),
        (
            {"records.jsonl": b" " * (upload_limits.RUN_RECORDS_BYTES + 1)},
            "records.jsonl has 16,777,217 bytes",
        ),
        ({"records.jsonl": b"1," * (upload_limits.RUN_RECORD_VALUES + 1)}, "have 2,000,001 values"),
        ({"status_json": b" " * 20_000}, "status.json has 20,000 bytes, the limit is 16,384"),
        ({"config_json": b" " * 200_000}, "config.json has 200,000 bytes, the limit is 131,072"),
        (
            {"resume_st": (3 << 20).to_bytes(8, "little") + b" " * (3 << 20)},
            "header of the run's saved state",
        ),
        (
            {"snapshots__00000009_st": (1 << 20).to_bytes(8, "little") + b" " * (1 << 20)},
            "headers of the run's",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
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
    with pytest.raises(RunError, match="does not match the model"):
        import_run(tmp_path, rezipped(finished, config_json=json.dumps(config).encode()))


def test_a_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, finished: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_limits, "RUN_UNPACKED_BYTES", 10_000)
    with pytest.raises(RunError, match="unpacks to"):
        import_run(tmp_path, rezipped(finished))
    monkeypatch.setattr(upload_limits, "RUN_ZIP_BYTES", 10)
    with pytest.raises(RunError, match="too large"):
        import_run(tmp_path, rezipped(finished))


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
    assert re.search(rf"; skipped: records.jsonl line 2: {why}", message) and len(message) < 300


def test_what_has_no_place_in_a_record_does_not_come_with_it(tmp_path: Path, finished: Run) -> None:
    lines = json.dumps(GOOD_STEP | {"html": "<b>"}).encode() + b"\nx\n[]\n" + b"[" * 10**5 + b"\n"
    arrived = import_run(tmp_path, rezipped(finished, **{"records.jsonl": lines}))
    assert arrived.records()[0] == [GOOD_STEP]
    assert "skipped: records.jsonl line 2 is not a JSON record and 2 more" in arrived.status().message


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
    with pytest.raises(RunError, match=rf"its status \(status.json\) is invalid: {why}"):
        import_run(tmp_path, rezipped(finished, status_json=json.dumps(status).encode()))
    assert list(tmp_path.iterdir()) == []


def test_a_snapshot_says_no_more_than_a_runs_snapshot_does(tmp_path: Path, finished: Run) -> None:
    step = finished.snapshots()[-1]
    good = load_checkpoint(finished.snapshot_path(step))
    for changed, why in (
        (replace(good, history=[{"accuracy": "x"}]), "unexpected metadata"),
        (replace(good, card={"summary": "![](http://x)"}), "unexpected metadata"),
        (
            replace(good, classes=("a", "b", "c")),
            "expected 10 class names, one per output, received 3",
        ),
    ):
        name = f"snapshots__{step:08d}_st"
        with pytest.raises(RunError, match=why):
            import_run(tmp_path, rezipped(finished, **{name: checkpoint_bytes(changed)}))
    assert list(tmp_path.iterdir()) == []


def test_int8_snapshots_are_refused(tmp_path: Path, finished: Run) -> None:
    step = finished.snapshots()[-1]
    snapshot = checkpoint_bytes(load_checkpoint(finished.snapshot_path(step)), int8_steps=[step])
    assert load_checkpoint(snapshot).snapshots.keys() == {step}
    with pytest.raises(RunError, match="int8, which a run is not trained or resumed with"):
        import_run(tmp_path, rezipped(finished, **{f"snapshots__{step:08d}_st": snapshot}))
    assert list(tmp_path.iterdir()) == []


def test_int8_in_the_saved_state_is_refused(tmp_path: Path, finished: Run) -> None:
    state = save({"weights": torch.zeros(4, dtype=torch.int8)}, metadata={"vitviz": "{}"})
    with pytest.raises(RunError, match="saved state has int8 weights, which a run is not trained or resumed"):
        import_run(tmp_path, rezipped(finished, resume_st=state))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", [b"[" + b"[]," * 400 + b"1]", b'"' + b"a" * 200_000 + b'"'])
def test_a_line_that_is_no_records_is_left_out_unread(tmp_path: Path, finished: Run, line: bytes) -> None:
    lines = json.dumps(GOOD_STEP).encode() + b"\n" + line + b"\n"
    arrived = import_run(tmp_path, rezipped(finished, **{"records.jsonl": lines}))
    assert arrived.records()[0] == [GOOD_STEP]
    assert "records.jsonl line 2 is too long or too deeply nested" in arrived.status().message


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=300))
def test_noise_is_no_run(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    with pytest.raises(RunError):
        import_run(tmp_path_factory.mktemp("noise"), noise)

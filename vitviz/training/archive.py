"""A run as a zip: down from one server, up to another; what comes up is a stranger's file and is checked whole."""

from __future__ import annotations

import io
import json
import math
import re
import shutil
import struct
import time
import zipfile
import zlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors

from vitviz.checkpoints import CheckpointError, load_checkpoint
from vitviz.training.files import write_status
from vitviz.training.runs import Run, RunConfig, RunError, Status, config_from_values

MAX_ZIP_BYTES = 64 * 2**20
MAX_UNPACKED_BYTES = 192 * 2**20
MAX_FILES = 256
MAX_RECORDS = 200_000
_MEMBER = re.compile(
    r"config\.json|status\.json|records\.jsonl|resume\.safetensors|snapshots/\d{8}\.safetensors"
)
_DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OSError)
_NOT_A_RUN = "the file is not a run downloaded from this program"


def export_run(run: Run) -> bytes:
    """The run's directory as a zip, without its lease and its commands."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(run.directory.rglob("*")):
            name = path.relative_to(run.directory).as_posix()
            if _MEMBER.fullmatch(name):
                archive.writestr(name, path.read_bytes())
    return buffer.getvalue()


def import_run(root: str | Path, data: bytes, owner: str = "", lease_s: float | None = None) -> Run:
    """A new run under `root` from a zip that `export_run` made; nothing is left behind where it is refused.

    Raises:
        RunError: if it is no such zip, too large, or anything in it does not fit; one sentence says what.
    """
    members = _unpack(data)
    config = _config(members, owner, lease_s)
    records = _records(members.get("records.jsonl", b""))
    snapshots = {name: part for name, part in members.items() if name.startswith("snapshots/")}
    if not snapshots:
        raise RunError("the run has no snapshot, so there is nothing to look at")
    for name, part in snapshots.items():
        _check_snapshot(name, part, config)
    status = _status(members)
    resume = members.get("resume.safetensors")
    if resume is not None:
        _check_resume(resume)
    run = Run.create(root, config)
    try:
        for name, part in (*snapshots.items(), *((("resume.safetensors", resume),) if resume else ())):
            (run.directory / name).write_bytes(part)
        (run.directory / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        write_status(run.directory / "status.json", asdict(status))
    except OSError as error:
        shutil.rmtree(run.directory, ignore_errors=True)
        raise RunError(f"the run could not be stored: {error.strerror or error}") from error
    return run


def _unpack(data: bytes) -> dict[str, bytes]:
    """Members by name; sizes are counted while unpacking, for a zip may lie about them."""
    if len(data) > MAX_ZIP_BYTES:
        raise RunError(
            f"the zip is too large: {len(data) / 2**20:.0f} MB, the limit is {MAX_ZIP_BYTES >> 20} MB"
        )
    members: dict[str, bytes] = {}
    left = MAX_UNPACKED_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if len(archive.infolist()) > MAX_FILES:
                raise RunError(f"the zip holds {len(archive.infolist())} files, the limit is {MAX_FILES}")
            for info in archive.infolist():
                if not _MEMBER.fullmatch(info.filename) or info.filename in members:
                    raise RunError(f"{_NOT_A_RUN}: it holds {info.filename[:80]!r}")
                with archive.open(info) as file:
                    members[info.filename] = file.read(left + 1)
                left -= len(members[info.filename])
                if left < 0:
                    raise RunError(f"the zip unpacks to more than {MAX_UNPACKED_BYTES >> 20} MB")
    except RunError:
        raise
    except _DAMAGED as error:
        raise RunError(f"{_NOT_A_RUN}, or it is damaged") from error
    return members


def _config(members: dict[str, bytes], owner: str, lease_s: float | None) -> RunConfig:
    try:
        values = json.loads(members["config.json"])
        config = config_from_values(values)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise RunError(f"{_NOT_A_RUN}: its config cannot be used") from error
    return replace(config, owner=owner, lease_s=lease_s, created=0.0)


def _records(data: bytes) -> list[dict[str, Any]]:
    records = []
    lines = data.splitlines()
    if len(lines) > MAX_RECORDS:
        raise RunError(f"the run has {len(lines)} records, the limit is {MAX_RECORDS}")
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and _plain(record):
            records.append(record)
    return records


def _plain(record: dict[str, Any]) -> bool:
    """Whether a record has what every reader counts on: its kind, its step, and finite numbers."""
    numbers = [value for value in record.values() if isinstance(value, int | float)]
    known = record.get("kind") in ("step", "evaluation", "snapshot", "event")
    return known and isinstance(record.get("step"), int) and all(math.isfinite(number) for number in numbers)


def _check_snapshot(name: str, part: bytes, config: RunConfig) -> None:
    step = int(Path(name).stem)
    try:
        checkpoint = load_checkpoint(part, step)
    except CheckpointError as error:
        raise RunError(f"{name} cannot be used: {error}") from error
    if checkpoint.config != config.model or checkpoint.preparation != config.preparation:
        raise RunError(f"{name} belongs to another model than the run's config")


def _check_resume(part: bytes) -> None:
    try:
        parse_tensors(part)
    except (SafetensorError, ValueError, RuntimeError, KeyError) as error:
        raise RunError("the run's saved state is damaged") from error


def _status(members: dict[str, bytes]) -> Status:
    try:
        values = json.loads(members["status.json"])
        state = "done" if values["state"] == "done" else "stopped"
        tested = values.get("test_accuracy")
        return Status(
            state,
            int(values["step"]),
            progress=_finite(values["progress"]),
            epoch=_finite(values["epoch"]),
            seconds=_finite(values["seconds"]),
            learning_rate=_finite(values["learning_rate"]),
            weight_decay=_finite(values["weight_decay"]),
            message=f"uploaded {time.strftime('%Y-%m-%d %H:%M')}",
            accuracy=None if values.get("accuracy") is None else _finite(values["accuracy"]),
            test_accuracy=None if tested is None else _finite(tested),
        )
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise RunError(f"{_NOT_A_RUN}: its status cannot be used") from error


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"not a finite number: {value!r}")
    return number

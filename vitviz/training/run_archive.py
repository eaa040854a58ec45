"""Export a run as a zip, import one after checking every file in it, and limit how many are uploaded.

The configs of an experiment's members are recreated from its own config.
"""

import io
import json
import re
import shutil
import threading
import time
import zipfile
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors

from vitviz import upload_limits as limits
from vitviz.checkpoint_header import CheckpointError
from vitviz.checkpoints import load_checkpoint
from vitviz.data.bounded_zip import BoundedZip, EntryError, ZipError, ZipLimits
from vitviz.text import cut, plural
from vitviz.training.atomic_files import write_status
from vitviz.training.record_fields import CHECKS, FieldError, checked_record, number
from vitviz.training.run_config import MEMBER_NAME, RunConfig, config_from_values
from vitviz.training.run_directory import START, Run, RunError, Status
from vitviz.training.start_weights import check_start
from vitviz.upload_limits import UPLOAD_WINDOW_S, UPLOADS_PER_ADDRESS, UPLOADS_PER_USER

MAX_SECONDS = 1.2  # of processor time, between two files or records
_MAX_FILE_BYTES = {  # other files: the limit of the archive
    "config.json": limits.RUN_CONFIG_BYTES,
    "status.json": limits.RUN_STATUS_BYTES,
    "records.jsonl": limits.RUN_RECORDS_BYTES,
    START: limits.CHECKPOINT_BYTES,
}
_READ = r"status\.json|records\.jsonl|snapshots/[0-9]{8}\.safetensors"  # files of one model
_FILE = re.compile(
    rf"config\.json|resume\.safetensors|start\.safetensors|{_READ}|members/{MEMBER_NAME}/({_READ})"
)
_STATUS = {name: CHECKS[name] for name in ("step", "epoch", "seconds", "learning_rate", "weight_decay")} | {
    "progress": number(0, 1)
}
_OF_THE_WHOLE = {"config.json", "status.json", "resume.safetensors", START}
_NOT_A_RUN = "the file is not a run exported by vitviz"


def export_run(run: Run) -> bytes:
    """Return the run's directory as a zip, without lease and commands."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(run.directory.rglob("*")):
            name = path.relative_to(run.directory).as_posix()
            if _FILE.fullmatch(name):
                archive.writestr(name, _read_without_owner(path))
    return buffer.getvalue()


def _read_without_owner(path: Path) -> bytes:
    """Return a file's bytes; the owner is removed from a config."""
    encoded = path.read_bytes()
    if path.name != "config.json":
        return encoded
    return json.dumps({**json.loads(encoded), "owner": ""}, indent=1).encode()


@dataclass
class _Reading:
    """Processor time and skipped records of one import."""

    skipped: list[str] = field(default_factory=list)
    begun_s: float = field(default_factory=time.thread_time)

    def check_time(self) -> None:
        if time.thread_time() - self.begun_s > MAX_SECONDS:
            raise RunError(
                f"importing the run exceeds the limit of {MAX_SECONDS:g} seconds of processor time: it has too many"
                " layers, snapshots or records"
            )


def import_run(root: str | Path, zip_bytes: bytes, owner: str = "", lease_s: float | None = None) -> Run:
    """Return a new run under `root` from a zip by `export_run`; an invalid zip leaves nothing behind.

    Raises:
        RunError: if the zip is invalid, too large or inconsistent.
    """
    reading = _Reading()
    files = _unpack(zip_bytes)
    config = _config(files, owner, lease_s)
    skipped = reading.skipped
    parts = [_part(files, config, "", reading)] if not config.members else []
    for member in config.members:
        parts.append(_part(files, config.for_member(member), f"members/{member.name}/", reading))
    known = {name for part in parts for name in part} | _OF_THE_WHOLE
    strange = sorted(set(files) - known)
    if strange:
        raise RunError(f"{_NOT_A_RUN}: unexpected file {cut(strange[0])!r}")
    status = _status(files, "status.json")
    if skipped:
        others = f" and {len(skipped) - 1:,} more" if len(skipped) > 1 else ""
        status = replace(status, message=f"{status.message}; skipped: {skipped[0]}{others}")
    resume = files.get("resume.safetensors")
    if resume is not None:
        _check_resume(resume)
        parts.append({"resume.safetensors": resume})
    start = files.get(START)
    if start is not None:
        check_start(start, config)
    run = Run.create(root, config, start=start)
    try:
        for name, content in (entry for part in parts for entry in part.items()):
            (run.directory / name).write_bytes(content)
        write_status(run.directory / "status.json", asdict(status))
    except OSError as error:
        shutil.rmtree(run.directory, ignore_errors=True)
        raise RunError(f"the run could not be stored: {error.strerror or error}") from error
    return run


def _part(files: dict[str, bytes], config: RunConfig, folder: str, reading: _Reading) -> dict[str, bytes]:
    """Return one model's files, checked, under their names in the zip."""
    start = f"{folder}snapshots/"
    part = {name: content for name, content in files.items() if name.startswith(start)}
    if not part:
        raise RunError("the run has no snapshot: export it after its first snapshot")
    for name, content in part.items():
        reading.check_time()
        _check_snapshot(name, content, config)
    name = f"{folder}records.jsonl"
    part[name] = _records(files.get(name, b""), name, reading)
    status = f"{folder}status.json"
    part[status] = json.dumps(asdict(_status(files, status))).encode()
    return part


def _unpack(zip_bytes: bytes) -> dict[str, bytes]:
    """Return the files by name."""
    if len(zip_bytes) > limits.RUN_ZIP_BYTES:
        raise RunError(
            f"the zip is too large: {len(zip_bytes) / 2**20:.0f} MB, the limit is {limits.RUN_ZIP_BYTES >> 20} MB"
        )
    files: dict[str, bytes] = {}
    try:
        archive = BoundedZip(zip_bytes, ZipLimits(limits.RUN_FILES, limits.RUN_UNPACKED_BYTES))
        for info in archive.files:
            name = info.filename
            if not _FILE.fullmatch(name) or name in files:
                raise RunError(f"{_NOT_A_RUN}: unexpected file {cut(name)!r}")
            most_bytes = _MAX_FILE_BYTES.get(Path(name).name, limits.RUN_UNPACKED_BYTES)
            if info.file_size > most_bytes:
                raise RunError(f"{name} has {info.file_size:,} bytes, the limit is {most_bytes:,}")
            files[name] = archive.read(info, most_bytes)
    except EntryError as error:
        raise RunError(f"{name} in the zip cannot be used: {error}") from error
    except ZipError as error:
        raise RunError(f"the zip cannot be used: {error}") from error
    _check_totals(files)
    return files


def _check_totals(files: dict[str, bytes]) -> None:
    """Check the total sizes of records and headers before parsing any."""
    records = [encoded for name, encoded in files.items() if name.endswith("records.jsonl")]
    lines = sum(encoded.count(b"\n") for encoded in records)
    if lines > limits.RUN_RECORDS:
        raise RunError(f"the run has {lines:,} records, the limit is {limits.RUN_RECORDS:,}")
    if (values := sum(encoded.count(b",") for encoded in records)) > limits.RUN_RECORD_VALUES:
        raise RunError(f"the run's records have {values:,} values, the limit is {limits.RUN_RECORD_VALUES:,}")
    if (size := sum(map(len, records))) > limits.RUN_RECORDS_BYTES:
        raise RunError(f"the run's records have {size:,} bytes, the limit is {limits.RUN_RECORDS_BYTES:,}")
    headers = [_header_bytes(encoded) for name, encoded in files.items() if "snapshots/" in name]
    if max(headers, default=0) > limits.SNAPSHOT_HEADER_BYTES or sum(headers) > limits.SNAPSHOT_HEADERS_BYTES:
        raise RunError(
            f"the headers of the run's snapshots have {sum(headers):,} bytes, the limit is"
            f" {limits.SNAPSHOT_HEADER_BYTES:,} each and {limits.SNAPSHOT_HEADERS_BYTES:,} together"
        )


def _header_bytes(part: bytes) -> int:
    """Return the length of a safetensors file's header, at most the file's own."""
    return min(int.from_bytes(part[:8], "little"), len(part))


def _config(files: dict[str, bytes], owner: str, lease_s: float | None) -> RunConfig:
    try:
        values = json.loads(files["config.json"])
        config = config_from_values(values)
    except KeyError as error:
        cause = "it is missing" if str(error) == "'config.json'" else f"it lacks {error}"
        raise RunError(f"{_NOT_A_RUN}: its config is invalid: {cause}") from error
    except ValueError as error:
        raise RunError(f"{_NOT_A_RUN}: its config is invalid: {cut(str(error), 300)}") from error
    except (TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise RunError(f"{_NOT_A_RUN}: its config is invalid") from error
    return replace(config, owner=owner, lease_s=lease_s, created=0.0)


def _records(encoded: bytes, name: str, reading: _Reading) -> bytes:
    """Return the valid records; for others, note the line and the reason."""
    records, skipped = [], reading.skipped
    for place, line in enumerate(io.BytesIO(encoded), start=1):
        if place % 256 == 0 or len(line) > 1000:
            reading.check_time()
        if len(line) > limits.RECORD_BYTES or line.count(b"[") + line.count(b"{") > limits.RECORD_BRACKETS:
            skipped.append(f"{name} line {place} is too long or too deeply nested")
            continue
        try:
            records.append(json.dumps(checked_record(json.loads(line))).encode() + b"\n")
        except FieldError as error:
            skipped.append(f"{name} line {place}: {error}")
        except (ValueError, RecursionError):
            skipped.append(f"{name} line {place} is not a JSON record")
    return b"".join(records)


def _check_snapshot(name: str, part: bytes, config: RunConfig) -> None:
    step = int(Path(name).stem)
    try:
        checkpoint = load_checkpoint(part, step, allow_int8=False)
    except CheckpointError as error:
        raise RunError(f"{name} cannot be used: {error}") from error
    if checkpoint.history or set(checkpoint.card) - {"title", "step", "epoch", "seconds"}:
        raise RunError(f"{name} has unexpected metadata: expected a snapshot of a run")
    if not all(
        isinstance(entry, int | float | str) and len(str(entry)) <= 500 for entry in checkpoint.card.values()
    ):
        raise RunError(f"{name} has invalid metadata: expected numbers and short texts")
    if checkpoint.config != config.model or checkpoint.preparation != config.preparation:
        raise RunError(f"{name} does not match the model of the run's config")


def _check_resume(part: bytes) -> None:
    if (size := _header_bytes(part)) > limits.RESUME_HEADER_BYTES:
        raise RunError(
            f"the header of the run's saved state has {size:,} bytes, the limit is {limits.RESUME_HEADER_BYTES:,}"
        )
    try:
        tensors = parse_tensors(part)
    except (SafetensorError, ValueError, RuntimeError, KeyError) as error:
        raise RunError("the run's saved state is damaged") from error
    if any(tensor.dtype == torch.int8 for tensor in tensors.values()):
        raise RunError("the run's saved state has int8 weights, which a run is not trained or resumed with")


def _status(files: dict[str, bytes], name: str) -> Status:
    try:
        values = json.loads(files[name])
        read: dict[str, Any] = {key: check(key, values[key]) for key, check in _STATUS.items()}
        read |= {
            key: None if values.get(key) is None else number(0, 1)(key, values[key])
            for key in ("accuracy", "test_accuracy")
        }
        state = "done" if values["state"] == "done" else "stopped"
        return Status(state, message=f"uploaded {time.strftime('%Y-%m-%d %H:%M')}", **read)
    except KeyError as error:
        cause = f"it lacks {error}" if str(error) != repr(name) else "it is missing"
        raise RunError(f"{_NOT_A_RUN}: its status ({name}) is invalid: {cause}") from error
    except FieldError as error:
        raise RunError(f"{_NOT_A_RUN}: its status ({name}) is invalid: {error}") from error
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise RunError(f"{_NOT_A_RUN}: its status ({name}) cannot be read") from error


@dataclass
class Intake:
    """Recent uploads of one kind to this server process; thread-safe."""

    kind: str = "run"
    now: Callable[[], float] = time.monotonic
    _taken: deque[tuple[float, str, str]] = field(default_factory=deque)  # (when, owner, address)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, owner: str, address: str = "") -> None:
        """Count an upload; an empty `address` does not count.

        Raises:
            RunError: if this session or this address has reached its limit of uploads per hour.
        """
        with self._lock:
            time_s = self.now()
            while self._taken and time_s - self._taken[0][0] >= UPLOAD_WINDOW_S:
                self._taken.popleft()
            from_owner = sum(who == owner for _, who, _ in self._taken)
            from_address = sum(bool(address) and where == address for *_, where in self._taken)
            for count, most, whose in (
                (from_owner, UPLOADS_PER_USER, "you"),
                (from_address, UPLOADS_PER_ADDRESS, "your network"),
            ):
                if count >= most:
                    raise RunError(
                        f"{plural(count, self.kind)} came from {whose} within an hour, the limit: try again later"
                    )
            self._taken.append((time_s, owner, address))

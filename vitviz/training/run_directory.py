"""Read, create and control a run's directory, which pages and the trainer process share.

Files: config.json, records.jsonl, snapshots/STEP.safetensors, resume.safetensors, status.json, control.jsonl;
lease.json and seen.json (last viewed), claim.json (lock of the trainer), editors.json (permissions). An experiment
trains several models in turn: each has its config, records, status and snapshots under members/NAME/; commands and
resume state are in the experiment's directory. Initial weights other than random ones are in start.safetensors.
"""

from __future__ import annotations

import json
import os
import platform
import re
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from vitviz.heartbeat import Heartbeats
from vitviz.training.atomic_files import (
    append_lines,
    json_object,
    read_json,
    read_lines,
    read_whole,
    write_status,
    write_whole,
)
from vitviz.training.run_config import (
    MEMBER_NAME,
    RunConfig,
    clean_name,
    config_from_values,
    config_to_values,
)

# A trainer renews its heartbeat every 5 s; after this long without one it is dead.
HEARTBEAT_LIMIT_S = 20.0
ENDED = ("done", "stopped", "diverged", "failed", "interrupted")
_STATES = ("new", "queued", "starting", "running", "paused", *ENDED)
COMMANDS = ("pause", "resume", "step", "stop", "set")
DRAFT = ".new-"  # prefix of a directory that is being created
START = "start.safetensors"
DELETED = ".gone-"  # prefix of a directory that is being deleted
_ID = re.compile(rf"[a-z0-9][a-z0-9-]{{3,63}}(/{MEMBER_NAME})?")


class RunError(ValueError):
    """A run that does not exist or cannot be used."""


def is_id(text: str) -> bool:
    """Return True if this is a valid id of a run or an experiment's member."""
    return _ID.fullmatch(text) is not None


@dataclass(frozen=True)
class Status:
    """The status of a run; `state` is 'interrupted' if its trainer died without notice."""

    state: str = "new"  # new queued starting running paused done stopped diverged failed interrupted
    step: int = 0
    total_steps: int | None = None
    progress: float = 0.0
    epoch: float = 0.0
    seconds: float = 0.0  # of training
    seconds_left: float | None = None
    images_per_second: float = 0.0
    accuracy: float | None = None  # on the validation images, the latest
    test_accuracy: float | None = None
    learning_rate: float = 0.0  # the peak, as it was last set
    weight_decay: float = 0.0
    precision: str = ""
    message: str = ""
    pid: int = 0
    host: str = ""  # the machine that trains it
    heartbeat: float = 0.0

    @property
    def has_ended(self) -> bool:
        """True if no trainer works on the run."""
        return self.state in ENDED

    @property
    def active(self) -> bool:
        """True if a trainer works on the run or will."""
        return self.state in ("queued", "starting", "running", "paused")

    def in_state_of(self, experiment: Status) -> Status:
        """Return a member's status with the state of its experiment."""
        shared = ("state", "message", "pid", "host", "heartbeat")
        return replace(self, **{name: getattr(experiment, name) for name in shared})


@lru_cache(maxsize=64)
def _config(encoded: bytes) -> RunConfig:
    """Parse a config file; cached, because one poll of the live lab reads it eleven times."""
    return config_from_values(json_object(encoded))


class Run:
    """One run's directory.

    Raises:
        RunError: if the directory is not a run's.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        if not self.exists():
            raise RunError(f"the run {self.directory.name!r} does not exist: it was deleted or has expired")

    @classmethod
    def create(
        cls, root: str | Path, config: RunConfig, run_id: str | None = None, start: bytes | None = None
    ) -> Run:
        """Return a new run under `root`, with an unguessable id unless one is given.

        Args:
            start: file of its initial weights (`vitviz.training.start_weights`); None: random.

        Raises:
            OSError: if it cannot be written; partial files are removed.
        """
        run_id = run_id or f"{time.strftime('%y%m%d-%H%M%S')}-{secrets.token_hex(8)}"
        directory, draft = Path(root) / run_id, Path(root) / f"{DRAFT}{run_id}"
        try:  # written under another name and renamed: a full disk leaves no partial run
            _write_new(draft, replace(config, created=config.created or time.time()))
            if start is not None:
                write_whole(draft / START, start)
            draft.rename(directory)
        except OSError:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return cls(directory)

    @classmethod
    def find(cls, root: str | Path, run_id: str) -> Run:
        """Return the run with this id under `root`; RUN/NAME is a member of an experiment.

        Raises:
            RunError: if it does not exist or the id is invalid.
        """
        if not is_id(run_id):
            raise RunError(f"expected a run's id, received {run_id[:80]!r}")
        return cls(Path(root, *run_id.replace("/", "/members/").split("/")))

    def exists(self) -> bool:
        """Return True if the directory is still a run's."""
        return (self.directory / "config.json").is_file()

    @property
    def id(self) -> str:
        """The directory's name, prefixed by the experiment's for a member; anyone who knows it can view the run."""
        return (
            f"{self.root_run.directory.name}/{self.directory.name}" if self.is_member else self.directory.name
        )

    @property
    def is_member(self) -> bool:
        """True if this is one model of an experiment."""
        parent = self.directory.parent
        return parent.name == "members" and (parent.parent / "config.json").is_file()

    @property
    def root_run(self) -> Run:
        """The experiment of a member, which takes the commands; otherwise the run itself."""
        return Run(self.directory.parent.parent) if self.is_member else self

    def members(self) -> list[Run]:
        """Return an experiment's models as runs, in their order; empty for any other run."""
        return [Run(self.directory / "members" / member.name) for member in self.config().members]

    def config(self) -> RunConfig:
        """Return the run's config, with its current name.

        Raises:
            RunError: if config.json is damaged.
        """
        try:
            return _config(read_whole(self.directory / "config.json"))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise RunError(f"the run's config is invalid: {error}") from error

    def status(self) -> Status:
        """Return the run's status; a member has the state of its experiment."""
        values = read_json(self.directory / "status.json")
        status = Status(**{key: field for key, field in values.items() if _fits(key, field)})
        if self.is_member:
            return status.in_state_of(self.root_run.status())
        if status.state in ("starting", "running", "paused") and not _is_alive(self.directory, status):
            return replace(status, state="interrupted", message=_DIED)
        return status

    def records(self, after_byte: int = 0) -> tuple[list[dict[str, Any]], int]:
        """Return (records after a byte, next byte); 'kind' is step, evaluation, shuffled, snapshot or event.

        A run resumed from an earlier step truncates its records; `after_byte` beyond the end reads all.
        """
        return read_lines(self.directory / "records.jsonl", after_byte)

    def snapshots(self) -> list[int]:
        """Return the steps whose weights are saved, ascending."""
        return [*self.snapshot_times()]

    def snapshot_times(self) -> dict[int, int]:
        """Return each snapshot's modification time in ns by step, ascending."""
        times = {}
        with suppress(FileNotFoundError):
            for entry in os.scandir(self.directory / "snapshots"):
                stem, _, ending = entry.name.partition(".")
                if stem.isdigit() and ending == "safetensors":
                    with suppress(FileNotFoundError):
                        times[int(stem)] = entry.stat().st_mtime_ns
        return dict(sorted(times.items()))

    def snapshot_path(self, step: int | None = None) -> Path:
        """Return the checkpoint file of a step (None: the newest); `checkpoints.open_model` reads it.

        Raises:
            RunError: if there is no such snapshot.
        """
        steps = self.snapshots()
        if not steps or (step is not None and step not in steps):
            raise RunError(
                f"expected a step with a snapshot ({', '.join(map(str, steps)) or 'none yet'}), received {step}"
            )
        return self.directory / "snapshots" / f"{steps[-1] if step is None else step:08d}.safetensors"

    def control(self, command: str, **values: float) -> None:
        """Send a command to the trainer: 'pause', 'resume', 'step', 'stop', or 'set' with learning_rate, weight_decay.

        Raises:
            ValueError: if the command is unknown or a value is out of range.
        """
        if command not in COMMANDS:
            raise ValueError(f"command must be one of {', '.join(COMMANDS)}, received {command!r}")
        if command == "set":
            replace(self.config().train, **values)  # type: ignore[arg-type]
        append_lines(self.directory / "control.jsonl", [{"command": command, "time": time.time(), **values}])

    def control_end(self) -> int:
        """Return the byte after the last command, from which a new trainer reads."""
        path = self.directory / "control.jsonl"
        return path.stat().st_size if path.exists() else 0

    def touch_lease(self) -> None:
        """Renew the lease; pages of the run's owner call this every few seconds, otherwise training stops."""
        self._touch("lease.json")

    def touch_seen(self) -> None:
        """Record a view by anybody, so that the run is not deleted as unused."""
        self._touch("seen.json")

    def _touch(self, name: str) -> None:
        try:
            os.utime(self.directory / name)
        except FileNotFoundError:
            write_whole(self.directory / name, b"{}")

    def rename(self, name: str) -> None:
        """Change the displayed name (at most 80 characters); the id stays."""
        values = read_json(self.directory / "config.json")
        write_whole(
            self.directory / "config.json",
            json.dumps({**values, "name": clean_name(name)}, indent=1).encode(),
        )

    def delete(self) -> None:
        """Delete the directory, including an experiment's members.

        Raises:
            RunError: if the run is training, or it is a member.
            OSError: if its folder cannot be written; nothing is deleted then.
        """
        if self.is_member:
            raise RunError("a single model of an experiment cannot be deleted: delete the experiment")
        if self.status().state in ("starting", "running", "paused"):
            raise RunError("the run is training: stop it before deleting it")
        aside = self.directory.with_name(DELETED + self.directory.name)
        with suppress(FileNotFoundError):  # already deleted
            self.directory.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)


def list_runs(root: str | Path) -> list[Run]:
    """Return the runs under `root`, newest first."""
    folder = Path(root)
    paths = folder.glob("*/config.json") if folder.is_dir() else ()
    runs = []
    for path in paths:
        with suppress(RunError):
            runs += [] if path.parent.name.startswith(".") else [Run(path.parent)]
    return sorted(runs, key=lambda run: run.id, reverse=True)


def _write_new(directory: Path, config: RunConfig) -> None:
    (directory / "snapshots").mkdir(parents=True)
    for member in config.members:
        _write_new(directory / "members" / member.name, config.for_member(member))
    write_whole(directory / "config.json", json.dumps(config_to_values(config), indent=1).encode())
    write_status(directory / "status.json", asdict(Status()))


_DIED = (
    "The trainer stopped without notice: it was killed, the machine stopped, or the disk was full."
    " Resume to continue from the last save."
)


_heartbeats = Heartbeats(HEARTBEAT_LIMIT_S)


def _is_alive(directory: Path, status: Status) -> bool:
    if status.host in ("", platform.node()):  # on another machine only the heartbeat is known
        try:
            os.kill(status.pid, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except OSError:  # it exists and belongs to another user
            pass
    return _heartbeats.lives(directory.name.removeprefix(DELETED), status.heartbeat, time.time())


def _fits(name: str, field: Any) -> bool:
    """Return True if a value has the type of a status field; the file may be damaged or of a later version."""
    if name not in Status.__dataclass_fields__:
        return False
    usual = getattr(Status, name)
    if isinstance(usual, str):
        return isinstance(field, str) and (name != "state" or field in _STATES)
    if field is None:
        return usual is None
    kinds = (int,) if isinstance(usual, int) else (int, float)
    return type(field) in kinds and abs(field) < 1e15  # NaN is not

"""Find, share and describe training runs, and read their records as they grow."""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pages.stores.model_choice import ModelChoice
from pages.stores.record_arrays import Records
from pages.stores.runs_folder import find_runs_of
from pages.stores.runs_folder import get_folder as get_folder
from vitviz.text import of_each, percent, plain

if TYPE_CHECKING:
    from pages.stores.session import UserSession
    from vitviz.analysis.race import Racer
    from vitviz.training.executor import Executor
    from vitviz.training.run_archive import Intake
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run, Status

LEASE_S = 300.0  # browsers throttle hidden tabs to about one poll per minute, and lens pages do not poll
_TOUCH_S = 5.0
_RESUME_HINT = re.compile(r"(?:;|, and|\.) [Rr]esume ")  # between a trainer's message and its hint
MAX_RUNS = 24  # runs per user


_opening = threading.Lock()
_executor: Executor | None = None  # lives as long as the server; a user could empty a cache
AT_FULL_SPEED = 4  # users; in a class of thirty, curves update about once a second
_WATCHING_S = 3.0


def get_executor() -> Executor:
    """Return the server's executor: local with a warm worker, or the cluster of $VITVIZ_DASK."""
    global _executor
    from vitviz.training.open_executor import open_executor

    with _opening:
        if _executor is None:
            _executor = open_executor(get_folder())
        return _executor


def take_up_queued() -> None:
    """Queue the runs that waited on a server that has ended."""
    from vitviz.training.executor import find_abandoned

    if find_abandoned(get_folder()):  # without one no trainer is loaded
        get_executor().take_up_queued()


_intakes: dict[str, Intake] = {}  # upload counters by kind


def admit_upload(user: UserSession, address: str, kind: str = "run") -> None:
    """Count an uploaded run or dataset against the hourly limits of the user and the address.

    Raises:
        RunError: if the user or the address exceeds the hourly limit.
    """
    from vitviz.training.run_archive import Intake

    with _opening:
        intake = _intakes.setdefault(kind, Intake(kind))
    intake.admit(user.owner, address)


# ---------------------------------------------------------------- runs of a user


def list_runs(user: UserSession) -> list[Run]:
    """Return the user's runs, newest first, without deleted ones.

    After a restart of the server, the user's runs are found by their owner on disk.
    """
    with user.lock:  # another tab waits for the search
        if not user.runs_restored:
            user.update("runs", (*user.runs, *find_runs_of(user.owner)), most=MAX_RUNS)
            user.runs_restored = True
    runs = {run_id: find_run(run_id) for run_id in user.runs}
    if missing := [run_id for run_id, run in runs.items() if run is None]:
        with user.lock:
            user.lost_runs -= user.update("runs", remove=missing)
    return [run for run in runs.values() if run is not None]


def adopt_run(user: UserSession, run_id: str) -> bool:
    """Add a run to the user's session: started, uploaded, or named by a link with its unguessable id.

    A member is added with its experiment.
    """
    run_id = run_id.partition("/")[0]
    if run_id in user.runs:
        return True
    if find_run(run_id) is None:
        return False
    user.update("runs", [run_id], most=MAX_RUNS)
    return True


def drop_run(user: UserSession, run_id: str) -> None:
    user.update("runs", remove=[run_id])


def find_run(run_id: str) -> Run | None:
    """Return the run with this id, or None if it is missing, damaged or exceeds this version's limits."""
    from vitviz.training.run_directory import Run, RunError

    try:
        run = Run.find(get_folder(), run_id)
        run.config()
    except RunError:
        return None
    return run


def list_models(run: Run) -> list[Run]:
    """Return an experiment's members, or any other run itself."""
    from vitviz.training.run_directory import RunError

    try:
        return run.members() or [run]
    except RunError:  # damaged, or being deleted
        return [run]


def get_title(run: Run) -> str:
    """Return a run's name; a member's follows its experiment's."""
    return f"{run.root_run.config().name} · {name_model(run)}" if run.is_member else run.config().name


def name_model(model: Run) -> str:
    """Return a model's name, with its seed if others of the run have the same name."""
    config = model.config()
    namesakes = [member for member in model.root_run.config().members if member.title == config.name]
    return config.name if len(namesakes) < 2 else f"{config.name}, seed {config.train.seed}"


# ---------------------------------------------------------------- status of a run


def read_status(run: Run) -> Status:
    """Return a run's status; a run queued by a server that has ended counts as interrupted."""
    from vitviz.training import run_lock

    status, whole = run.status(), run.root_run
    if (
        status.state == "queued"
        and get_executor().queue_position(whole) is None
        and whole.id not in get_executor().running()
    ):
        again = run.status()  # the worker may have started it meanwhile
        if again.state == "queued" and not run_lock.is_held(whole.directory):
            message = (
                "The server was restarted while this run was queued. It is queued again within a minute."
            )
            return replace(again, state="interrupted", message=message)
        return again
    return status


def may_change(user: UserSession, run: Run) -> bool:
    from vitviz.training import permissions

    return permissions.may_change(run, user.owner)


def describe_status(user: UserSession, run: Run, status: Status) -> str:
    """Return the status message, with the hint how to resume only for users who may resume."""
    return status.message.removesuffix(".") if may_change(user, run) else describe_event(status)


def describe_event(status: Status) -> str:
    """Return the status message without the hint how to resume."""
    return _RESUME_HINT.split(status.message)[0].removesuffix(".")


def describe_own_training(user: UserSession) -> str:
    """Name a run of the user that is in training, in Markdown; '' if there is none."""
    running = get_executor().running()
    own_run = next((run for run in list_runs(user) if run.id in running and is_maker(user, run)), None)
    return "" if own_run is None else f"your '{plain(own_run.config().name)}' is training"


def describe_missing_curve(status: Status, has_losses: bool = False) -> str:
    """Return the text shown in place of a run's curves; `has_losses`: its first steps are recorded."""
    if not status.active:
        return "The run ended before its first evaluation."
    if status.state == "queued":
        return "Waiting to start…"
    if status.state == "paused" or has_losses:
        return "Not evaluated yet."
    return "The first record is expected within two seconds."


def describe_progress(config: RunConfig, status: Status) -> str:
    """Return the step and epoch, or the share of all steps if the models train unequally long."""
    if not config.equally_long:
        return of_each(status.progress)
    total = f" of {status.total_steps:,}" if status.total_steps else ""
    return f"step {status.step:,}{total} · epoch {status.epoch:.1f}"


def join_run(user: UserSession, run_id: str, key: str) -> bool:
    """Grant editing to a user whose link holds the run's key."""
    from vitviz.training import permissions

    run = find_run(run_id)
    return run is not None and permissions.join(run, user.owner, key)


def is_maker(user: UserSession, run: Run) -> bool:
    return run.root_run.config().owner == user.owner


def mark_active(user: UserSession) -> None:
    """Renew the leases of the user's runs; cheap enough for every poll."""
    for run in list_runs(user):
        open_log(run.id).touch(run, is_maker(user, run))


class RunLog(Records):
    """A run's records as arrays, read as they grow and shared by all users who watch it."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run, self._at = run, 0
        self._lock = threading.Lock()
        self._touched = {True: 0.0, False: 0.0}  # when the maker's lease or a viewer's was last renewed

    def touch(self, run: Run, maker: bool) -> None:
        """Renew the lease of the maker or of a viewer, at most every few seconds."""
        if time.monotonic() - self._touched[maker] > _TOUCH_S:
            self._touched[maker] = time.monotonic()
            with suppress(OSError):  # a read-only or deleted folder does not prevent viewing
                run.touch_lease() if maker else run.touch_seen()

    def read(self) -> RunLog:
        """Read appended records; a run that resumed from an earlier step is read from the start."""
        with self._lock:
            records, at = self._run.records(self._at)
            if at < self._at or (records and self.is_rewound(records)):
                self.clear()
                records, at = self._run.records(0)
            self._at = at
            for record in records:
                self.add(record)
        return self


def open_log(run_id: str) -> RunLog:
    """Return the log of a run; call `read()` for the newest records.

    Raises:
        vitviz.training.run_directory.RunError: if there is no such run.
    """
    return _open_log(get_folder(), run_id)


@lru_cache(maxsize=256)
def _open_log(runs_folder: Path, run_id: str) -> RunLog:
    from vitviz.training.run_directory import Run

    return RunLog(Run.find(runs_folder, run_id))


def list_racers(run: Run) -> list[Racer]:
    """Return an experiment's models as racers, with their accuracies so far."""
    from vitviz.analysis import race

    racers = []
    for member in list_models(run):
        records = open_log(member.id).read()
        config, accuracies = member.config(), records.validation()[[1, -1]]
        racers.append(
            race.create_racer(
                member.directory.name, name_model(member), accuracies, records.shuffled, config.model.family
            )
        )
    return racers


# ---------------------------------------------------------------- runs as models


def list_choices(user: UserSession) -> tuple[ModelChoice, ...]:
    """Return the user's runs that have a snapshot, as selectable models."""
    mark_active(user)
    choices = (_build_choice(model) for run in list_runs(user) for model in list_models(run))
    return tuple(choice for choice in choices if choice is not None)


def _build_choice(run: Run) -> ModelChoice | None:
    from vitviz.data.datasets import data_title
    from vitviz.data.uploaded_datasets import hide_secret_name
    from vitviz.training.run_directory import RunError

    try:  # the run may be deleted or restarted at any of these calls
        steps, config, name = run.snapshots(), run.config(), get_title(run)
        table, active = open_log(run.id).read().validation(), read_status(run).active
        path = run.snapshot_path(steps[-1]) if steps else None
    except RunError:
        return None
    if path is None:
        return None
    best = f"best validation accuracy {percent(table[-1].max())}" if table.shape[1] else "not yet evaluated"
    title = plain(data_title(config.train.dataset))
    # The sidebar is not redrawn while the live lab's numbers change.
    training = f"Step {steps[-1]:,} of a run in training on {title}."
    return ModelChoice(
        key=f"run:{run.id}",
        title=name,
        note=training if active else f"Trained here on {title}; {best}.",
        config=config.model,
        preparation=config.preparation,
        trained_on=hide_secret_name(config.train.dataset),
        steps=tuple(steps),
        curve=tuple((int(step), float(accuracy)) for step, accuracy in zip(table[0], table[-1], strict=True)),
        path=path,
        accuracy=float(table[-1].max()) if table.shape[1] else None,
    )


def get_snapshot_path(run_id: str, step: int) -> Path:
    """Return the checkpoint file of a run's step.

    Raises:
        vitviz.training.run_directory.RunError: if there is no such run or step.
    """
    from vitviz.training.run_directory import Run

    return Run.find(get_folder(), run_id).snapshot_path(step)


def read_min_slowness() -> float:
    """Return $VITVIZ_SLOWNESS, the operator's factor on polling intervals; 1 unless it is in 1 to 100."""
    try:
        factor = float(os.environ.get("VITVIZ_SLOWNESS", ""))
    except ValueError:
        return 1.0
    return factor if 1 <= factor <= 100 else 1.0


class Watchers:
    """The users who are watching a run now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, float] = {}

    def note(self, user: str) -> None:
        time_s = time.monotonic()
        with self._lock:
            self._seen[user] = time_s
            self._seen = {name: at for name, at in self._seen.items() if time_s - at < _WATCHING_S}

    def slowness(self) -> float:
        """Return the factor on a user's polling interval; it grows with the number of users."""
        with self._lock:
            return max(read_min_slowness(), len(self._seen) / AT_FULL_SPEED)


_WATCHERS = Watchers()  # of this server


note_watcher = _WATCHERS.note
get_slowness = _WATCHERS.slowness

"""Training runs as pages see them: one executor per server, and the records of every run, read on as they grow."""

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
from pages.stores.records import Records
from vitviz.text import of_each, percent, plain

if TYPE_CHECKING:
    from pages.stores.session import Visit
    from vitviz.training.executor import Executor
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run, Status
    from vitviz.training.upload_limits import Intake

LEASE_S = (
    300.0  # browsers throttle hidden tabs to about one poll a minute, and a lens page does not poll at all
)
_TOUCH_S = 5.0
_WAY_ON = re.compile(r"(?:;|, and) resume ")  # where a trainer's message says what may be done
MOST_OF_A_VISIT = 24  # runs that a visit keeps in its table


def folder() -> Path:
    """Where runs are kept: $VITVIZ_RUNS, or the platform's cache folder."""
    return _folder(os.environ.get("VITVIZ_RUNS", "").strip())


@lru_cache(maxsize=8)
def _folder(chosen: str) -> Path:
    from platformdirs import user_cache_path

    return Path(chosen).expanduser() if chosen else user_cache_path("vitviz") / "runs"


_opening = threading.Lock()
_executor: Executor | None = None  # lives as long as the server: no cache, which a visitor could empty


def executor() -> Executor:
    """The server's one executor: on this machine, with a warm worker, or on the cluster that $VITVIZ_DASK names."""
    global _executor
    from vitviz.training.open_executor import open_executor

    with _opening:
        if _executor is None:
            _executor = open_executor(folder())
        return _executor


_intakes: dict[str, Intake] = {}  # by kind; they count for as long as the server lives


def admit_upload(visit: Visit, address: str, kind: str = "run") -> None:
    """Counts a run, or something else, that a visit brings in from outside, by the visit and by its address.

    Raises:
        RunError: if too many came from either within the hour.
    """
    from vitviz.training.upload_limits import Intake

    with _opening:
        intake = _intakes.setdefault(kind, Intake(kind))
    intake.admit(visit.owner, address)


# ---------------------------------------------------------------- whose runs these are


def mine(visit: Visit) -> list[Run]:
    """The runs of a visit, newest first; those that were deleted elsewhere drop out.

    A visit that the server does not know any more finds the runs on disk that say it made them.
    """
    if not visit.recalled:
        visit.recalled = True
        visit.runs = tuple(dict.fromkeys((*visit.runs, *_made_by(visit.owner))))[:MOST_OF_A_VISIT]
    found = [run for run in map(find, visit.runs) if run is not None]
    visit.lost += len(visit.runs) - len(found)
    visit.runs = tuple(run.id for run in found)
    return found


def _made_by(owner: str) -> list[str]:
    """Ids of the runs on disk whose maker this is, newest first."""
    from vitviz.training.run_directory import Run, RunError

    made = []
    for directory in folder().iterdir() if folder().is_dir() else ():
        if not (directory / "config.json").is_file():
            continue
        try:
            run = Run.find(folder(), directory.name)
            config = run.config()
        except RunError:  # damaged, or no run
            continue
        if config.owner == owner:
            made.append((config.created, run.id))
    return [run_id for _, run_id in sorted(made, reverse=True)]


def adopt(visit: Visit, run_id: str) -> bool:
    """Adds a run to a visit: one that it started or uploaded, or whose unguessable id its link holds.

    With a member comes its experiment.
    """
    run_id = run_id.partition("/")[0]
    if run_id in visit.runs:
        return True
    if find(run_id) is None:
        return False
    visit.runs = (run_id, *visit.runs)[:MOST_OF_A_VISIT]
    return True


def drop(visit: Visit, run_id: str) -> None:
    """Takes a run out of a visit."""
    visit.runs = tuple(other for other in visit.runs if other != run_id)


def find(run_id: str) -> Run | None:
    """The run with this id, or None: where there is none, or its config is damaged or beyond what is trained here."""
    from vitviz.training.run_directory import Run, RunError

    try:
        run = Run.find(folder(), run_id)
        run.config()
    except RunError:
        return None
    return run


def is_id(run_id: str) -> bool:
    """Whether a run, or an experiment's member, may be called so."""
    from vitviz.training.run_directory import is_id

    return is_id(run_id)


def models_of(run: Run) -> list[Run]:
    """An experiment's members; any other run alone: what has curves and snapshots."""
    from vitviz.training.run_directory import RunError

    try:
        return run.members() or [run]
    except RunError:  # damaged, or being deleted
        return [run]


def title(run: Run) -> str:
    """A run's name, a member's after its experiment's."""
    return f"{run.whole.config().name} · {called(run)}" if run.is_member else run.config().name


def called(model: Run) -> str:
    """A model's own name, with its seed where others of its run are called the same."""
    config = model.config()
    same = [one for one in model.whole.config().members if one.title == config.name]
    return config.name if len(same) < 2 else f"{config.name}, seed {config.train.seed}"


# ---------------------------------------------------------------- how a run stands


def status(run: Run) -> Status:
    """How a run stands; one that waited in the queue of a server that is gone counts as interrupted."""
    from vitviz.training import run_lock

    now, whole = run.status(), run.whole
    if now.state == "queued" and executor().place(whole) is None and whole.id not in executor().running():
        again = run.status()  # between the queue and the worker's first word
        if again.state == "queued" and not run_lock.is_held(whole.directory):
            message = "the server was restarted while this run waited; resume puts it back into the queue"
            return replace(again, state="interrupted", message=message)
        return again
    return now


def may_change(visit: Visit, run: Run) -> bool:
    """Whether this visit made the run, or its maker let it in: whoever else has its link looks on."""
    from vitviz.training import permissions

    return permissions.may_change(run, visit.owner)


def message(visit: Visit, run: Run, status: Status) -> str:
    """What happened to a run; how it goes on only for who may let it."""
    return status.message if may_change(visit, run) else happened(status)


def happened(status: Status) -> str:
    """What happened to a run, without how it goes on: for a page or a visitor that cannot let it."""
    return _WAY_ON.split(status.message)[0]


def waits(visit: Visit, run: Run) -> str:
    """That a run waits, where in the queue, and which of the visit's own trains meanwhile; for Markdown."""
    place, busy = executor().place(run), executor().running()
    if run.id in busy:
        return "the trainer is loading"
    before = next((one for one in mine(visit) if one.id in busy and made(visit, one)), None)
    where = f", number {place} in the queue" if place else ""
    own = "" if before is None else f"; your '{plain(before.config().name)}' is training"
    return f"waiting for a free place{where}{own}"


def no_curve_yet(status: Status) -> str:
    """What stands where a run's curves will."""
    if not status.active:
        return "Nothing was measured."
    if status.state == "queued":
        return "The curves begin when a trainer takes it up."
    return "The first accuracies come within seconds."


def reached(config: RunConfig, status: Status) -> str:
    """How far a run is: its steps and epochs, or the share of all where its models make unequally many."""
    if not config.equally_long:
        return of_each(status.progress)
    of = f" of {status.total_steps:,}" if status.total_steps else ""
    return f"step {status.step:,}{of} · epoch {status.epoch:.1f}"


def share(run: Run) -> str:
    """A new key that lets its holders change the run; an earlier one lets nobody in any more."""
    from vitviz.training import permissions

    return permissions.share(run)


def unshare(run: Run) -> None:
    """Takes the key back, and sends everybody out but the maker."""
    from vitviz.training import permissions

    permissions.unshare(run)


def is_shared(run: Run) -> bool:
    """Whether others may change it or could come in."""
    from vitviz.training import permissions

    return permissions.is_shared(run)


def join(visit: Visit, run_id: str, key: str) -> bool:
    """Lets a visit in whose link holds the run's key for editing."""
    from vitviz.training import permissions

    run = find(run_id)
    return run is not None and permissions.join(run, visit.owner, key)


def made(visit: Visit, run: Run) -> bool:
    """Whether this visit made the run: whoever else knows its id looks on."""
    return run.whole.config().owner == visit.owner


def watch(visit: Visit) -> None:
    """Says that a visit is here: its own runs train on, and others' count as in use; cheap to call at every poll."""
    for run in mine(visit):
        log(run.id).touch(run, made(visit, run))


class Log(Records):
    """A run's records as arrays, read on as they grow and shared by every visit that watches."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run, self._at = run, 0
        self._lock = threading.Lock()
        self._touched = {True: 0.0, False: 0.0}  # when it was last said that its maker, or another, is here

    def touch(self, run: Run, maker: bool) -> None:
        """Say that its maker, or somebody else, is here, at most every few seconds, where that can be written."""
        if time.monotonic() - self._touched[maker] > _TOUCH_S:
            self._touched[maker] = time.monotonic()
            with suppress(
                OSError
            ):  # the folder may be read-only, or gone: what it holds is shown all the same
                run.touch_lease() if maker else run.touch_seen()

    def read(self) -> Log:
        """Take in what was appended; a run that resumed from an earlier step is read anew."""
        with self._lock:
            records, at = self._run.records(self._at)
            if at < self._at or (records and self.goes_back(records)):
                self.clear()
                records, at = self._run.records(0)
            self._at = at
            for record in records:
                self.take(record)
        return self


def log(run_id: str) -> Log:
    """The records of a run; call `read()` for the newest.

    Raises:
        vitviz.training.run_directory.RunError: if there is no such run.
    """
    return _log(folder(), run_id)


@lru_cache(maxsize=256)
def _log(runs_folder: Path, run_id: str) -> Log:
    from vitviz.training.run_directory import Run

    return Log(Run.find(runs_folder, run_id))


# ---------------------------------------------------------------- runs as models


def choices(visit: Visit) -> tuple[ModelChoice, ...]:
    """A visit's runs that have a snapshot, as models to choose."""
    watch(visit)
    made = (_choice(model) for run in mine(visit) for model in models_of(run))
    return tuple(choice for choice in made if choice is not None)


def _choice(run: Run) -> ModelChoice | None:
    from vitviz.data.datasets import data_title
    from vitviz.data.own_datasets import spoken
    from vitviz.training.run_directory import RunError

    try:  # it may be removed, or begin anew, at any of these
        steps, config, name = run.snapshots(), run.config(), title(run)
        table = log(run.id).read().validation()
        path = run.snapshot_path(steps[-1]) if steps else None
    except RunError:
        return None
    if path is None:
        return None
    best = f"best validation accuracy {percent(table[-1].max())}" if table.shape[1] else "not yet evaluated"
    return ModelChoice(
        key=f"run:{run.id}",
        title=name,
        note=f"Trained here on {plain(data_title(config.train.dataset))}; {best}.",
        config=config.model,
        preparation=config.preparation,
        trained_on=spoken(config.train.dataset),
        steps=tuple(steps),
        curve=tuple((int(step), float(value)) for step, value in zip(table[0], table[-1], strict=True)),
        path=path,
        accuracy=float(table[-1].max()) if table.shape[1] else None,
    )


def snapshot_path(run_id: str, step: int) -> Path:
    """The checkpoint file of a run's step.

    Raises:
        vitviz.training.run_directory.RunError: if there is no such run or step.
    """
    from vitviz.training.run_directory import Run

    return Run.find(folder(), run_id).snapshot_path(step)

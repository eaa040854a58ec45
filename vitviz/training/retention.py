"""Delete runs that are unused for long, and the oldest ones if the folder is full.

$VITVIZ_RUNS_DAYS (default 14) limits the time since a run was last viewed or trained, $VITVIZ_RUNS_GB (default 20) the
size of all runs. Several servers may share one folder: a run is renamed before it is deleted, which only one can do.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from vitviz.heartbeat import Clock
from vitviz.training.run_directory import DELETED, DRAFT, Run, RunError, list_runs

WATCHED_S = 600.0  # a page renews its view every few seconds, a hidden tab every minute
QUEUED_S = 24 * 3600.0  # a run queued for longer waits for a server that no longer exists
LEFT_S = 3600.0  # age of leftovers from interrupted writes
AHEAD_S = 3600.0  # later times were written while the clock was wrong
_clock = Clock(60.0)


@dataclass(frozen=True)
class Limits:
    """Limits of the age and total size of stored runs."""

    age_s: float = 14 * 86_400.0
    stored_bytes: float = 20e9

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Limits:
        """Return the limits set in the environment.

        Raises:
            ValueError: if a setting is not a positive number.
        """
        days, gigabytes = (
            _positive(environment, name, default)
            for name, default in (("VITVIZ_RUNS_DAYS", 14.0), ("VITVIZ_RUNS_GB", 20.0))
        )
        return cls(days * 86_400.0, gigabytes * 1e9)


@dataclass(frozen=True)
class Stored:
    """Size, age and state of one stored run."""

    id: str
    stored_bytes: int
    used: float  # last viewed, trained or created, in seconds since 1970
    under_way: bool


def list_stored_runs(root: str | Path, time_s: float) -> list[Stored]:
    """Return all runs of a folder, except those deleted meanwhile."""
    stored = []
    for run in list_runs(root):
        with suppress(RunError, OSError):
            stored.append(_describe_run(run, time_s))
    return stored


def plan(runs: Iterable[Stored], limits: Limits, time_s: float) -> list[str]:
    """Return the ids of the runs to delete, the longest unused first: all too old ones, then until the rest fits.

    Running trainings and runs viewed within `WATCHED_S` are never deleted, even if the folder is too large.
    """
    runs = list(runs)
    left = sum(run.stored_bytes for run in runs)
    removed = []
    for run in sorted(runs, key=lambda run: run.used):
        idle = time_s - run.used
        if run.under_way or idle < WATCHED_S:
            continue
        if idle > limits.age_s or left > limits.stored_bytes:
            removed.append(run.id)
            left -= run.stored_bytes
    return removed


def remove(root: str | Path, ids: Iterable[str], time_s: float) -> list[str]:
    """Delete these runs and return the deleted ids; a run resumed meanwhile stays."""
    removed = []
    for run_id in ids:
        place, aside = Path(root) / run_id, Path(root) / f"{DELETED}{run_id}"
        try:
            if _describe_run(Run(place), time_s).under_way:
                continue
            os.utime(place, (time_s, time_s))  # or another server takes the renamed folder for a leftover
            place.rename(aside)  # another server cannot rename it any more
            if _describe_run(Run(aside), time_s).under_way:  # resumed between the check and the rename
                aside.rename(place)
                continue
        except (RunError, OSError):
            continue
        shutil.rmtree(aside, ignore_errors=True)
        removed.append(run_id)
    return removed


def sweep(root: str | Path, limits: Limits | None = None, time_s: float | None = None) -> list[str]:
    """Delete expired runs and leftovers of interrupted writes; returns the deleted ids.

    Args:
        time_s: in seconds since 1970; None: this machine's clock. Nothing is deleted for `WATCHED_S` after the clock
            was set or the machine slept, so that viewers can renew first.
    """
    if time_s is None:
        time_s = time.time()
        if not _clock.even_for(WATCHED_S, time_s):
            return []
    removed = remove(
        root, plan(list_stored_runs(root, time_s), limits or Limits.from_environment(), time_s), time_s
    )
    for left in (path for start in (DRAFT, DELETED) for path in Path(root).glob(f"{start}*")):
        with suppress(OSError):
            if time_s - left.stat().st_mtime > LEFT_S:
                shutil.rmtree(left, ignore_errors=True)
    return removed


def _describe_run(run: Run, time_s: float) -> Stored:
    status = run.status()
    times = [status.heartbeat, (run.directory / "config.json").stat().st_mtime]
    for name in ("lease.json", "seen.json"):
        with suppress(OSError):
            times.append((run.directory / name).stat().st_mtime)
    latest = max(times)
    # A time in the future (wrong clock) counts as just unused: neither expired nor in use.
    used = min(time_s, latest) if latest <= time_s + AHEAD_S else time_s - WATCHED_S - 1
    size = sum(path.stat().st_size for path in run.directory.rglob("*") if path.is_file())
    under_way = status.active and (status.state != "queued" or time_s - used < QUEUED_S)
    return Stored(run.id, size, used, under_way)


def _positive(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name, "").strip()
    try:
        number = float(text) if text else default
    except ValueError:
        number = float("nan")
    if not (isfinite(number) and number > 0):
        raise ValueError(f"${name} must be a positive number, received {text[:80]!r}")
    return number
